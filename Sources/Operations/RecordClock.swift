import Synchronization

/// The lead of this process's clock over the clocks that stamp records, as far as records can tell.
///
/// A record's age alone shows no difference, for the record may have waited in the log. A record that was appended
/// after this process read the log's end is at most as old as that read. If its timestamp is older, the clocks differ.
/// A timestamp in the future shows a difference by itself. Times are milliseconds since the epoch, by this process's
/// clock.
public final class RecordClock: Sendable {
    private struct Place: Hashable {
        let topic: String
        let partition: Int32
    }

    private struct State {
        /// The end of each log, and the time at which this process read it.
        var ends: [Place: (offset: Int64, at: Int64)] = [:]
        /// The values since the last `take`; nil without a record that shows one. `behind` is the largest lead of a
        /// timestamp over this clock; `ahead` is the smallest lead of this clock over a fresh record.
        var behind: Int64?
        var ahead: Int64?
    }

    private let state = Mutex(State())

    public init() {}

    /// Notes that this process read the log to its end, which is `offset`.
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

    /// Returns the seconds that this process's clock is ahead, below 0 if it is behind; nil if no record showed a
    /// difference since the last call.
    public func take() -> Double? {
        state.withLock { state in
            defer { (state.behind, state.ahead) = (nil, nil) }
            let behind = state.behind ?? 0
            // A clock that is ahead makes no record seem to be from the future: the larger of the two is returned.
            if let ahead = state.ahead, ahead >= behind { return Double(ahead) / 1000 }
            return state.behind.map { -Double($0) / 1000 }
        }
    }
}

/// The lead of Apple's signing times over this process's clock. A proof that Apple signed in the future shows that one
/// of the two clocks is wrong. Times are milliseconds since the epoch.
public final class SignedClock: Sendable {
    /// The largest lead since the last `take`; 0 without one.
    private let furthest = Mutex<Int64>(0)

    public init() {}

    /// - Parameter timestamp: the time of signing, proven by the signature.
    public func took(signedAt timestamp: Int64, now: Int64) {
        guard timestamp > now else { return }
        furthest.withLock { $0 = max($0, timestamp - now) }
    }

    /// Returns the seconds that this process's clock is behind, as a number below 0; nil if no proof showed a
    /// difference since the last call.
    public func take() -> Double? {
        furthest.withLock { furthest in
            defer { furthest = 0 }
            return furthest > 0 ? -Double(furthest) / 1000 : nil
        }
    }
}
