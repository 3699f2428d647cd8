import Fulfillment
import Kafka
import TestSupport
import Testing

@testable import Pipeline

@Suite("Records of which four workers died in isolation")
struct CrashedRecordTests {
    @Test("if four workers died of a record, it becomes a dead letter, or keeps its answer if it was decided")
    func decidedBefore() async throws {
        // The mock broker refuses the test's commit in a group that has had members.
        let group = Shared("earlier")
        let bench = try PipelineBench { $0.consumerProperties["group.id"] = group.value }
        let first = try bench.start()
        try await bench.submit("before", player: "before", partition: 0)
        try await bench.changes.until("the record is checkpointed") { bench.checkpoints[0] == 1 }
        // The decision is durable and published, but the worker ends before it has stored how far it read.
        bench.checkpoints.failNextWrites(.max)
        try await bench.submit("decided", player: "answered", partition: 0)
        try await bench.untilAnswered("answered", ["granted decided"])
        try await first.stop()
        bench.checkpoints.failNextWrites(0)
        try await bench.submit("undecided", player: "waiting", partition: 1)
        try await bench.commit([
            0: CommitMark(offset: 1, metadata: #"{"v":1,"starts":7,"left":8,"suspect":1,"deaths":4}"#),
            1: CommitMark(offset: 0, metadata: #"{"v":1,"starts":7,"left":8,"suspect":0,"deaths":4}"#),
        ])
        group.update { $0 = "receiptd" }
        let second = try bench.start()
        try await bench.untilCommitted(2, of: 0)
        try await bench.untilCommitted(1, of: 1)
        let letters = bench.collector.all(Sample.deadLetters)
        #expect(letters.map { $0.header("dead-letter-partition") } == ["1"])
        #expect(Set(bench.answers("answered")) == ["granted decided"])
        #expect(bench.answers("waiting").isEmpty)
        try await second.stop()
        try await bench.close()
    }
}
