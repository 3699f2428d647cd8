import Fulfillment
import NamesAndTimes

/// Checkpoints in memory. A test can restore earlier ones, and make reads and writes fail.
public final class InMemoryCheckpoints: OffsetCheckpoints {
    private struct State {
        var history = DatabaseHistory("first")
        var rows: [String: [Int32: OffsetCheckpoint]] = [:]
        var departures: [String: [Int32: Int64]] = [:]
        var decidedAgain: [String: [Int32: LostDecisions]] = [:]
        var lostClaims: LostClaims?
        var claimsAsked = 0
        var isAway = false
        /// This many of the next reads fail. Of the next writes, `failingWrites` fail.
        var failingReads = 0
        var failingWrites = 0
        /// This many of the next writes about lost decisions fail.
        var failingKeeps = 0
        var holdsWrites = false
        var heldWrites = 0
    }

    private struct OutOfReach: Error {}

    private let state: Shared<State>
    private let submissions: String

    /// - Parameters:
    ///   - submissions: the topic to which the properties and the failures apply.
    ///   - changes: the signal that the test's doubles share.
    public init(submissions: String = "receipt-submissions", changes: ChangeSignal = ChangeSignal()) {
        self.submissions = submissions
        state = Shared(State(), changes)
    }

    /// Returns the next offset of a partition of the submissions topic.
    public subscript(partition: Int32) -> Int64? { state.read { $0.rows[submissions]?[partition]?.nextOffset } }

    public var rows: [Int32: OffsetCheckpoint] { state.read { $0.rows[submissions] ?? [:] } }

    public func departures(from partition: Int32) -> Int64 {
        state.read { $0.departures[submissions]?[partition] ?? 0 }
    }

    public func setAway(_ isAway: Bool) { state.update { $0.isAway = isAway } }

    public func failNextReads(_ count: Int) { state.update { $0.failingReads = count } }
    public func failNextKeeps(_ count: Int) { state.update { $0.failingKeeps = count } }
    public func failNextWrites(_ count: Int) { state.update { $0.failingWrites = count } }

    /// Makes writes wait, or lets the waiting writes continue.
    public func holdWrites(_ holds: Bool) { state.update { $0.holdsWrites = holds } }
    public var heldWrites: Int { state.read { $0.heldWrites } }

    private func waitWhileHeld() async throws {
        guard state.read({ $0.holdsWrites }) else { return }
        state.update { $0.heldWrites += 1 }
        defer { state.update { $0.heldWrites -= 1 } }
        try await state.until("writes are let go") { !$0.holdsWrites }
    }

    /// Replaces all rows, as a restore does.
    /// - Parameter isNoticeable: true if the database's history changes, as after a start or on a new timeline.
    public func fallBack(to rows: [Int32: OffsetCheckpoint], isNoticeable: Bool = true) {
        state.update { state in
            if isNoticeable { state.history = DatabaseHistory(state.history.text + "'") }
            state.rows[submissions] = rows
        }
    }

    public func read(topic: String, partitions: [Int32]) async throws -> StoredCheckpoints {
        try state.update { state in
            if topic == submissions, state.failingReads > 0 || state.isAway {
                state.failingReads -= state.isAway ? 0 : 1
                throw OutOfReach()
            }
            return StoredCheckpoints(
                history: state.history, checkpoints: (state.rows[topic] ?? [:]).filter { partitions.contains($0.key) },
                departures: (state.departures[topic] ?? [:]).filter { partitions.contains($0.key) },
                decidedAgain: (state.decidedAgain[topic] ?? [:]).filter { partitions.contains($0.key) })
        }
    }

    public func keepDecidedAgain(_ ends: [Int32: Int64], topic: String, since: Timestamp?) async throws {
        try state.update { state in
            if topic == submissions, state.failingKeeps > 0 || state.isAway {
                state.failingKeeps -= state.isAway ? 0 : 1
                throw OutOfReach()
            }
            let lost = ends.mapValues { LostDecisions(belowOffset: $0, noticedAt: WallClock.now) }
            state.decidedAgain[topic, default: [:]].merge(lost) { known, new in
                var both = known
                both.merge(new)
                return both
            }
            let from = since ?? Timestamp(milliseconds: 0)
            state.lostClaims = LostClaims(since: min(state.lostClaims?.since ?? from, from), noticedAt: WallClock.now)
        }
    }

    public func lostClaims() async throws -> LostClaims? {
        state.update {
            $0.claimsAsked += 1
            return $0.lostClaims
        }
    }

    /// The number of reads of lost claims so far.
    public var claimsAsked: Int { state.read(\.claimsAsked) }

    public func entered(_ claims: LostClaims) async throws {
        state.update { if $0.lostClaims == claims { $0.lostClaims = nil } }
    }

    public func write(
        _ writes: [Int32: CheckpointWrite], topic: String, in history: DatabaseHistory?
    ) async throws -> CheckpointResult {
        if topic == submissions { try await waitWhileHeld() }
        return try state.update { state in
            if topic == submissions, state.failingWrites > 0 || state.isAway {
                state.failingWrites -= state.isAway ? 0 : 1
                throw OutOfReach()
            }
            guard history == nil || history == state.history else { return CheckpointResult(history: state.history) }
            var result = CheckpointResult(history: state.history)
            for (partition, write) in writes {
                let found = state.rows[topic]?[partition]
                if found == write.expected {
                    state.rows[topic, default: [:]][partition] = write.new
                } else {
                    result.refused[partition] = .some(found)
                }
            }
            return result
        }
    }

    public func countDepartures(_ partitions: [Int32], topic: String) async throws -> [Int32: Int64] {
        try state.update { state in
            if topic == submissions, state.isAway { throw OutOfReach() }
            for partition in partitions where state.rows[topic]?[partition] != nil {
                state.departures[topic, default: [:]][partition, default: 0] += 1
            }
            return (state.departures[topic] ?? [:]).filter { partitions.contains($0.key) }
        }
    }
}
