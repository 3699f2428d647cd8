import Synchronization

/// The lead of this process's clock over the clocks that stamp records, as far as records can tell.
///
/// A record's age says nothing by itself, for it may have waited in the log. One that was appended after the end of the
/// log was read is at most as old as that read: if its timestamp is older, the difference is between the clocks. A
/// timestamp in the future needs no such proof. Times are milliseconds since the epoch, by this process's clock.
public final class RecordClock: Sendable {
    private struct Place: Hashable {
        let topic: String
        let partition: Int32
    }

    private struct State {
        /// The end of each log, and when it was seen.
        var ends: [Place: (offset: Int64, at: Int64)] = [:]
        /// The values since the last look: of the record that is furthest in the future, and of the fresh one that
        /// seems least old.
        var behind: Int64?
        var ahead: Int64?
    }

    private let state = Mutex(State())

    public init() {}

    /// The log has been read to its end, which is `offset`.
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

    /// Seconds that this process's clock is ahead, below 0 where it is behind; nil where no record has told since the
    /// last call.
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

/// Watches for proofs that Apple signed later than now by this process's clock: one of the two clocks is wrong. Times are
/// milliseconds since the epoch.
public final class SignedClock: Sendable {
    /// The largest lead of Apple's signing times since the last look; 0 without one.
    private let furthest = Mutex<Int64>(0)

    public init() {}

    /// - Parameter timestamp: when it was signed, as proven by its signature.
    public func took(signedAt timestamp: Int64, now: Int64) {
        guard timestamp > now else { return }
        furthest.withLock { $0 = max($0, timestamp - now) }
    }

    /// Seconds that this process's clock is behind, as a number below 0; nil where nothing has told since the last call.
    public func take() -> Double? {
        furthest.withLock { furthest in
            defer { furthest = 0 }
            return furthest > 0 ? -Double(furthest) / 1000 : nil
        }
    }
}
