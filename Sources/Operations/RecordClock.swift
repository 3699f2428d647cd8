import Synchronization

/// Finds how far this process's clock is ahead of the clocks that stamp Kafka's records.
///
/// The age of a record shows no difference, because the record may have waited in the log. But if a record was appended
/// after this process had read to the log's end, its timestamp must be later than that read. If the timestamp is
/// earlier, the clocks differ. A timestamp in the future also shows a difference. Times are milliseconds since 1970, by
/// this process's clock.
public final class RecordClock: Sendable {
    private struct Place: Hashable {
        let topic: String
        let partition: Int32
    }

    private struct State {
        /// The end offset up to which this process has read each log, and the time of that read.
        var ends: [Place: (offset: Int64, at: Int64)] = [:]
        /// `behind` is the largest lead of a record's timestamp over this clock since the last `take`; nil without one.
        /// `ahead` is the smallest lead of this clock over the timestamp of a record that was appended after a read to
        /// the log's end.
        var behind: Int64?
        var ahead: Int64?
    }

    private let state = Mutex(State())

    public init() {}

    /// Notes that this process has read the log to its end, which is `offset`.
    public func ended(topic: String, partition: Int32, offset: Int64, now: Int64) {
        state.withLock { $0.ends[Place(topic: topic, partition: partition)] = (offset, now) }
    }

    public func took(topic: String, partition: Int32, offset: Int64, timestamp: Int64, now: Int64) {
        state.withLock { state in
            if timestamp > now {
                state.behind = max(state.behind ?? 0, timestamp - now)
                return
            }
            guard let end = state.ends[Place(topic: topic, partition: partition)], offset >= end.offset else { return }
            let ahead = max(0, end.at - timestamp)
            state.ahead = min(state.ahead ?? ahead, ahead)
        }
    }

    /// Returns the seconds by which this process's clock is ahead; below 0 if this process's clock is behind. Nil if no
    /// record showed a difference since the last call.
    public func take() -> Double? {
        state.withLock { state in
            defer { (state.behind, state.ahead) = (nil, nil) }
            let behind = state.behind ?? 0
            // Usually only one value exists: a clock that is ahead sees no timestamp in the future. Of two values the
            // larger counts.
            if let ahead = state.ahead, ahead >= behind { return Double(ahead) / 1000 }
            return state.behind.map { -Double($0) / 1000 }
        }
    }
}

/// Finds how far this process's clock is behind Apple's clock. A signature from the future shows that one of the two
/// clocks is wrong. Times are milliseconds since 1970.
public final class SignedClock: Sendable {
    /// The largest lead of a signature's time over this clock since the last `take`; 0 without one.
    private let furthest = Mutex<Int64>(0)

    public init() {}

    /// Notes the time of a signature.
    /// - Parameter timestamp: the time of signing. The caller has checked the signature.
    public func took(signedAt timestamp: Int64, now: Int64) {
        guard timestamp > now else { return }
        furthest.withLock { $0 = max($0, timestamp - now) }
    }

    /// Returns the seconds by which this process's clock is behind, as a number below 0. Nil if no signature showed a
    /// difference since the last call.
    public func take() -> Double? {
        furthest.withLock { furthest in
            defer { furthest = 0 }
            return furthest > 0 ? -Double(furthest) / 1000 : nil
        }
    }
}
