import Fulfillment
import Synchronization

/// A database that keeps offsets, and falls back or goes away when told to.
final class KeptOffsets: DurableOffsets {
    private struct State {
        var history = DatabaseHistory("first")
        var offsets: [Int32: Int64] = [:]
        var departures: [Int32: Int64] = [:]
        var isAway = false
        /// Reads that are left to fail.
        var failures = 0
    }

    private struct OutOfReach: Error {}

    private let state = Mutex(State())

    subscript(partition: Int32) -> Int64? { state.withLock { $0.offsets[partition] } }

    func departures(from partition: Int32) -> Int64 { state.withLock { $0.departures[partition] ?? 0 } }

    func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

    /// The next reads fail.
    func failNextReads(_ count: Int) { state.withLock { $0.failures = count } }

    /// Its offsets are these from now on, in another history.
    func fallBack(to offsets: [Int32: Int64]) {
        state.withLock { state in
            state.history = DatabaseHistory(state.history.text + "'")
            state.offsets = offsets
        }
    }

    func read(topic: String, partitions: [Int32]) async throws -> DurableProgress {
        try state.withLock { state in
            if state.failures > 0 || state.isAway {
                state.failures -= state.isAway ? 0 : 1
                throw OutOfReach()
            }
            return DurableProgress(
                history: state.history, offsets: state.offsets.filter { partitions.contains($0.key) },
                departures: state.departures.filter { partitions.contains($0.key) })
        }
    }

    func note(_ offsets: [Int32: Int64], topic: String, in history: DatabaseHistory) async throws -> Bool {
        try state.withLock { state in
            if state.isAway { throw OutOfReach() }
            guard history == state.history else { return false }
            state.offsets.merge(offsets) { _, new in new }
            return true
        }
    }

    func noteDepartures(_ partitions: [Int32], topic: String) async throws -> [Int32: Int64] {
        try state.withLock { state in
            if state.isAway { throw OutOfReach() }
            for partition in partitions where state.offsets[partition] != nil {
                state.departures[partition, default: 0] += 1
            }
            return state.departures.filter { partitions.contains($0.key) }
        }
    }
}
