import Fulfillment
import Kafka
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Takeover of partitions by the next worker")
struct TakeoverTests {
    @Test("after a takeover a worker asks Apple only about the submission left undecided, and repeats no decision")
    func takeover() async throws {
        let bench = try PipelineBench()
        // The last owner of partition 0 left three events unpublished. The first three reads of the outbox fail.
        let owed = (0..<3).map { Sample.event($0, player: "heir") }
        bench.ledger.owe(0, owed, highest: 0)
        bench.ledger.failNextReads(3)
        try await bench.submit("heir.new", player: "heir", partition: 0)
        // Apple fails for this receipt as long as the first worker runs.
        bench.verifier.answer("stuck", .trouble(.init(.timeout)))
        for _ in 0..<10 { try await bench.submit("filler", player: "filler", partition: 1) }
        let first = try bench.start()
        try await bench.untilAnswered("heir", count: 4)
        try await bench.untilAnswered("filler", count: 10)
        #expect(bench.answers("heir") == ["granted 0", "granted 1", "granted 2", "granted heir.new"])
        #expect(owed.allSatisfy(bench.ledger.isPublished))

        // Partition 2 gets a decided record, a record that waits for a retry, and a decided record behind it.
        // Partition 3 gets a record that Apple answers while the worker stops.
        let start = try await bench.submit("before", player: "before", partition: 2)
        bench.verifier.hold("stuck")
        let stuck = try await bench.submit("stuck", player: "stuck", partition: 2)
        try await bench.submit("after", player: "after", partition: 2)
        bench.verifier.hold("late")
        let late = try await bench.submit("late", player: "late", partition: 3)
        try await bench.untilAnswered("after", count: 1)
        try await bench.untilAsked("late")
        try await bench.untilAsked("stuck")
        // During Apple's outage the worker keeps `stuck` in memory, however long `stuck` waits.
        bench.outage.begin()
        bench.verifier.answer("stuck", .trouble(.init(.rateLimited, retryNotBefore: .distantTest)))
        bench.verifier.release("stuck")
        // The worker counts the retry, and then waits in memory for Apple.
        try await bench.changes.until("it waits to try again") { first.metrics.retries.value >= 1 }
        let stopping = Task { try await first.stop() }
        bench.verifier.release("late")
        try await stopping.value
        #expect(bench.answers("late") == ["granted late"])
        // The count includes the three events that the last owner left.
        #expect(first.metrics.outcomes.with(OutcomeEvent.Kind.granted.rawValue, "").value == 17)
        let committed = try await bench.committed()
        #expect(committed[0] == 1)
        #expect(committed[1] == 10)
        #expect(committed[2] == stuck)
        #expect(stuck == start + 1)
        #expect(committed[3] == late + 1)

        let asked = bench.verifier.asked.count
        let decided = bench.ledger.decided("after")
        bench.outage.end()
        bench.verifier.answer("stuck", Sample.genuine("stuck"))
        let second = try bench.start()
        try await bench.untilAnswered("stuck", ["granted stuck"])
        try await bench.untilCommitted(stuck + 2, of: 2)
        // The second worker asks Apple about `stuck` only. The second worker finds the decision of `after`, and may
        // publish its event again.
        #expect(bench.verifier.asked.dropFirst(asked) == ["stuck"])
        #expect(bench.ledger.decided("after") == decided)
        #expect(Set(bench.answers("after")) == ["granted after"])
        #expect(bench.answers("before").count == 1)
        #expect(bench.ledger.pendingCount == 0)
        try await second.stop()
        try await bench.close()
    }

    @Test("a worker without a partition leases due parked submissions")
    func spare() async throws {
        let bench = try PipelineBench(partitions: 1)
        // Each worker has its own store of parked submissions, so that the stores show which workers lease.
        let stores = (0..<2).map { _ in InMemoryParking(changes: bench.changes) }
        let workers = try stores.map { try bench.start(parked: $0) }
        for (number, store) in stores.enumerated() {
            let submission = Submission(
                submissionID: Identifier("parked \(number)"), playerID: "p", bundleID: Sample.bundle,
                proof: .receipt(Sample.receipt("\(number)")))
            let position = Sample.position(Sample.record(offset: Int64(number)))
            _ = try await store.park(
                ParkingSubmission(
                    submission: submission, position: position, proof: position.content, traceparent: nil,
                    reason: .appleTrouble, history: WaitingHistory(failures: 1, parkings: 1), dueAfterSeconds: 0))
        }
        try await bench.changes.until("one has the partition, and both have decided, not \(stores.map(\.count))") {
            workers.map(\.metrics.assignedPartitions.value).sorted() == [0, 1] && stores.allSatisfy { $0.count == 0 }
        }
        for worker in workers { try await worker.stop() }
        try await bench.close()
    }

    @Test("if a worker stops before Kafka assigns a partition, it asks Apple nothing, and the next worker answers")
    func early() async throws {
        let bench = try PipelineBench()
        try await bench.submit("early", player: "early", partition: 0)
        let stopped = try bench.start()
        stopped.pipeline.stop()
        try await stopped.stop()
        #expect(bench.verifier.asked.isEmpty)
        let next = try bench.start()
        try await bench.untilAnswered("early", ["granted early"])
        #expect(bench.verifier.asked == ["early"])
        try await next.stop()
        try await bench.close()
    }

    @Test("if librdkafka refuses the consumer's settings, the pipeline's run throws librdkafka's error")
    func settings() async throws {
        let bench = try PipelineBench { $0.consumerProperties["group.id"] = nil }
        let running = try bench.start()
        await #expect(throws: KafkaError.self) { try await running.stop() }
        try await bench.close()
    }
}

extension Timestamp {
    /// The time an hour from now, later than the end of any test.
    static var distantTest: Timestamp { WallClock.now.adding(milliseconds: 3_600_000) }
}
