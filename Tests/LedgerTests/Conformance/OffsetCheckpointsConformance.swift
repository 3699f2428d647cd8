import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

@Suite("Stores of offset checkpoints in memory and in PostgreSQL")
struct OffsetCheckpointsConformance {
    private func checkpoints(_ implementation: Implementation) async throws -> any OffsetCheckpoints {
        switch implementation {
        case .inMemory: InMemoryCheckpoints()
        case .postgres: PostgresCheckpoints(pool: try await LedgerDatabase().pool, group: "receiptd")
        }
    }

    private func row(_ offset: Int64, version: Int64 = 1) -> OffsetCheckpoint {
        OffsetCheckpoint(nextOffset: offset, writer: 7, version: version)
    }

    private func first(_ offsets: [Int32: Int64]) -> [Int32: CheckpointWrite] {
        offsets.mapValues { CheckpointWrite(expected: nil, new: row($0)) }
    }

    @Test(
        "a store writes an offset checkpoint only if the writer expected the stored checkpoint",
        arguments: Implementation.allCases)
    func compareAndSet(implementation: Implementation) async throws {
        let checkpoints = try await checkpoints(implementation)
        let before = try await checkpoints.read(topic: Sample.topic, partitions: [0, 1, 2])
        #expect(before.checkpoints.isEmpty)
        let made = try await checkpoints.write(first([0: 5, 1: 70]), topic: Sample.topic, in: before.history)
        #expect(made == CheckpointResult(history: before.history))
        let second =
            [
                0: CheckpointWrite(expected: row(4), new: row(9, version: 2)),
                1: CheckpointWrite(expected: row(70), new: row(8, version: 2)),
                2: CheckpointWrite(expected: row(3), new: row(4, version: 2)),
            ] as [Int32: CheckpointWrite]
        let result = try await checkpoints.write(second, topic: Sample.topic, in: nil)
        #expect(result == CheckpointResult(history: before.history, refused: [0: row(5), 2: nil]))
        #expect(try await checkpoints.write(first([0: 5]), topic: "another", in: nil).refused.isEmpty)
        let after = try await checkpoints.read(topic: Sample.topic, partitions: [0, 1, 2])
        #expect(after.checkpoints == [0: row(5), 1: row(8, version: 2)])
        #expect(try await checkpoints.read(topic: Sample.topic, partitions: [1]).checkpoints.keys.sorted() == [1])
    }

    @Test(
        "a store does not write an offset checkpoint for decisions of another database history",
        arguments: Implementation.allCases)
    func otherHistory(implementation: Implementation) async throws {
        let checkpoints = try await checkpoints(implementation)
        let history = try await checkpoints.read(topic: Sample.topic, partitions: [0]).history
        let other = DatabaseHistory(history.text + "x")
        #expect(try await checkpoints.write(first([0: 5]), topic: Sample.topic, in: other).history == history)
        #expect(try await checkpoints.read(topic: Sample.topic, partitions: [0]).checkpoints.isEmpty)
    }

    @Test(
        "the store counts departed owners only for partitions with a checkpoint, and later writes keep the counts",
        arguments: Implementation.allCases)
    func departures(implementation: Implementation) async throws {
        let checkpoints = try await checkpoints(implementation)
        _ = try await checkpoints.write(first([0: 5, 1: 8]), topic: Sample.topic, in: nil)
        #expect(try await checkpoints.countDepartures([1, 0, 2], topic: Sample.topic) == [0: 1, 1: 1])
        #expect(try await checkpoints.countDepartures([1], topic: Sample.topic) == [1: 2])
        #expect(try await checkpoints.countDepartures([1], topic: "another").isEmpty)
        let write = CheckpointWrite(expected: row(8), new: row(9, version: 2))
        #expect(try await checkpoints.write([1: write], topic: Sample.topic, in: nil).refused.isEmpty)
        let departures = try await checkpoints.read(topic: Sample.topic, partitions: [0, 1, 2]).departures
        #expect(departures == [0: 1, 1: 2])
    }

    @Test(
        "the store keeps, by partition, the offset below which workers decide records again, and never lowers it",
        arguments: Implementation.allCases)
    func decidedAgain(implementation: Implementation) async throws {
        let checkpoints = try await checkpoints(implementation)
        try await checkpoints.keepDecidedAgain([0: 40, 1: 7], topic: Sample.topic)
        try await checkpoints.keepDecidedAgain([0: 30, 1: 9], topic: Sample.topic)
        let read = try await checkpoints.read(topic: Sample.topic, partitions: [0, 1, 2])
        #expect(read.decidedAgain.mapValues(\.belowOffset) == [0: 40, 1: 9])
        // PostgreSQL and this process run on one machine, so the two clocks agree.
        let now = WallClock.now.milliseconds
        #expect(read.decidedAgain.values.allSatisfy { abs($0.noticedAt.milliseconds - now) < 600_000 })
        #expect(read.checkpoints.isEmpty)
        #expect(try await checkpoints.read(topic: "another", partitions: [0, 1]).decidedAgain.isEmpty)
    }

    @Test(
        "if a database loses data twice, one loss from the earlier time counts until the claims of both are entered",
        arguments: Implementation.allCases)
    func lostClaims(implementation: Implementation) async throws {
        let checkpoints = try await checkpoints(implementation)
        #expect(try await checkpoints.lostClaims() == nil)
        try await checkpoints.keepDecidedAgain([0: 4], topic: Sample.topic, since: Sample.noon)
        let first = try #require(try await checkpoints.lostClaims())
        #expect(first.since == Sample.noon)
        // This loss has no time, so any claim of the outcomes topic may be lost.
        try await checkpoints.keepDecidedAgain([0: 4], topic: Sample.topic)
        let both = try #require(try await checkpoints.lostClaims())
        #expect(both.since == Timestamp(milliseconds: 0))
        try await checkpoints.entered(first)
        #expect(try await checkpoints.lostClaims() == both)
        try await checkpoints.entered(both)
        #expect(try await checkpoints.lostClaims() == nil)
    }
}
