import Fulfillment
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("The offsets that PostgreSQL keeps as checkpoints")
struct DurableOffsetsTests {
    @Test("the worker commits an offset to Kafka only after the database has the offset's checkpoint")
    func behind() async throws {
        let bench = try PipelineBench()
        let checkpoints = bench.checkpoints
        let running = try bench.start()
        try await bench.submit("a", player: "a", partition: 0)
        // The test waits only for Kafka's commit. `untilCommitted` waits for the checkpoint too, and would hide a late
        // checkpoint.
        try await eventually("the commit") { try await bench.committed()[0] == 1 }
        #expect(checkpoints[0] == 1)
        checkpoints.setAway(true)
        try await bench.submit("b", player: "b", partition: 0)
        try await bench.untilAnswered("b", count: 1)
        try await bench.changes.until("the failure is told") {
            running.fails("offsets of decided records cannot be stored in PostgreSQL")
        }
        #expect(try await bench.committed()[0] == 1)
        checkpoints.setAway(false)
        try await eventually("the commit") { try await bench.committed()[0] == 2 }
        #expect(checkpoints[0] == 2)
        try await running.stop()
        try await bench.close()
    }

    @Test("if a worker shuts down before any progress on a partition, it records its departure in the database")
    func departs() async throws {
        let bench = try PipelineBench { $0.shutdownGraceSeconds = 0.5 }
        let checkpoints = bench.checkpoints
        let first = try bench.start()
        try await bench.submit("a", player: "a", partition: 0)
        try await bench.untilCommitted(1, of: 0)
        try await first.stop()
        let departures = checkpoints.departures(from: 0)
        bench.verifier.hold("b")
        try await bench.submit("b", player: "b", partition: 0)
        let second = try bench.start()
        try await bench.untilAsked("b")
        try await second.stop()
        #expect(checkpoints.departures(from: 0) == departures + 1)
        try await bench.close()
    }

    @Test("if a worker stops while it writes a checkpoint, it waits for the write, and commits the checkpoint's offset")
    func onItsWay() async throws {
        let bench = try PipelineBench()
        let checkpoints = bench.checkpoints
        let first = try bench.start()
        for partition: Int32 in 0...1 { try await bench.submit("a\(partition)", player: "a", partition: partition) }
        for partition: Int32 in 0...1 { try await bench.untilCommitted(1, of: partition) }
        try await first.stop()
        let second = try bench.start()
        try await bench.submit("b", player: "b", partition: 0)
        try await bench.untilCommitted(2, of: 0)
        checkpoints.holdWrites(true)
        try await bench.submit("c", player: "c", partition: 0)
        try await bench.changes.until("the write is held") { checkpoints.heldWrites == 1 }
        // The stop begins with the departure from partition 1, where the worker made no progress.
        let departures = checkpoints.departures(from: 1)
        let stopping = Task { try await second.stop() }
        try await bench.changes.until("the stop began") { checkpoints.departures(from: 1) == departures + 1 }
        checkpoints.holdWrites(false)
        try await stopping.value
        #expect(checkpoints[0] == 3)
        #expect(try await bench.committed()[0] == 3)
        try await bench.close()
    }

    @Test("if the database falls back to an older state, an idle worker decides the records after the checkpoint again")
    func fallsBack() async throws {
        let bench = try PipelineBench()
        let checkpoints = bench.checkpoints
        let running = try bench.start()
        for number in 0..<6 { try await bench.submit("s\(number)", player: "p\(number)", partition: 0) }
        try await bench.untilCommitted(6, of: 0)
        bench.ledger.database.forgetEverything()
        checkpoints.fallBack(to: [0: OffsetCheckpoint(nextOffset: 2, writer: 1, version: 1)])
        try await bench.untilAnswered((2..<6).map { "p\($0)" }, count: 2)
        #expect((0..<2).allSatisfy { bench.answers("p\($0)").count == 1 })
        try await bench.untilCommitted(6, of: 0)
        #expect(running.metrics.databaseFallbacks.value == 1)
        #expect((2..<6).allSatisfy { bench.ledger.decidedAgain("p\($0)") == [false, true] })
        try await bench.submit("s6", player: "p6", partition: 0)
        try await bench.untilAnswered("p6", count: 1)
        #expect(bench.ledger.decidedAgain("p6") == [false])
        try await running.stop()
        try await bench.close()
    }

    @Test("a published grant that the database lost stays its player's, even if another player's record comes first")
    func publishedOwner() async throws {
        let bench = try PipelineBench()
        let checkpoints = bench.checkpoints
        let running = try bench.start()
        try await bench.submit("s", player: "a", partition: 0)
        try await bench.untilAnswered("a", count: 1)
        try await bench.submit("s", player: "b", partition: 1, id: "of b")
        try await bench.untilAnswered("b", count: 1)
        for partition: Int32 in 0...1 { try await bench.untilCommitted(1, of: partition) }
        bench.ledger.database.forgetEverything()
        // Only partition 1 goes back, so the worker does not read the first player's record again.
        var rows = checkpoints.rows
        rows[1] = OffsetCheckpoint(nextOffset: 0, writer: 1, version: 1)
        checkpoints.fallBack(to: rows)
        try await bench.untilAnswered("b", count: 2)
        #expect(bench.answers("b").allSatisfy { $0.hasPrefix("rejected") })
        #expect(try await checkpoints.lostClaims() == nil)
        // The ledger grants the same purchase to its owner again.
        try await bench.submit("s", player: "a", partition: 0)
        try await bench.untilAnswered("a", count: 2)
        #expect(bench.answers("a") == ["granted s", "granted s"])
        try await running.stop()
        try await bench.close()
    }

    @Test(
        "if the database lost a subscription's published state, the worker schedules a check of only this subscription")
    func publishedState() async throws {
        let bench = try PipelineBench()
        let running = try bench.start()
        try await bench.submit("s", player: "a", partition: 0)
        try await bench.untilAnswered("a", count: 1)
        try await bench.untilCommitted(1, of: 0)
        let now = WallClock.now
        for original in ["1000", "2000"] as [StoreTransactionID] {
            let fact = SubscriptionFact(
                originalTransactionID: original, bundleID: Sample.bundle, environment: .production,
                productID: "monthly", state: .expired, toldAt: now)
            var subscription = Subscription(fact, player: "b")
            bench.ledger.database.follow(subscription)
            if original == "1000" { subscription.tellAnew(above: 1) }
            try await bench.publish(.subscriptionChanged(subscription, at: now))
        }
        try await bench.untilAnswered("b", count: 2)
        bench.checkpoints.fallBack(to: [0: OffsetCheckpoint(nextOffset: 0, writer: 1, version: 1)])
        try await bench.untilAnswered("a", count: 2)
        let known = try await bench.ledger.database.known(["1000", "2000"])
        #expect(known.map { $0.check.dueAt != nil } == [true, false])
        try await running.stop()
        try await bench.close()
    }

    @Test("if a new database connection shows an older state, the worker asks Apple again about submissions in flight")
    func shownByConnection() async throws {
        let bench = try PipelineBench()
        let running = try bench.start()
        try await bench.submit("s", player: "a", partition: 0)
        try await bench.untilAnswered("a", count: 1)
        try await bench.untilCommitted(1, of: 0)
        bench.verifier.hold("u")
        try await bench.submit("u", player: "b", partition: 0)
        try await bench.untilAsked("u")
        bench.ledger.fallBack()
        try await bench.changes.until("it is asked again") { bench.verifier.count("u") == 2 }
        bench.verifier.release("u")
        try await bench.untilAnswered("b", count: 1)
        #expect(bench.ledger.decidedAgain("b") == [true])
        #expect(bench.ledger.decidedAgain("a") == [false])
        try await running.stop()
        try await bench.close()
    }

    @Test(
        "a new worker detects from published events that the database lost grants, and the worker after it sees no loss"
    )
    func shownByEvents() async throws {
        let bench = try PipelineBench()
        let first = try bench.start()
        try await bench.submit("s", player: "a", partition: 0)
        try await bench.untilAnswered("a", count: 1)
        try await bench.untilCommitted(1, of: 0)
        try await first.stop()
        bench.ledger.database.forgetEverything()
        let second = try bench.start()
        try await bench.submit("s", player: "b", partition: 1, id: "of b")
        try await bench.untilAnswered("b", count: 1)
        #expect(bench.answers("b").allSatisfy { $0.hasPrefix("rejected") })
        #expect(second.metrics.databaseFallbacks.value == 1)
        try await bench.untilCommitted(1, of: 1)
        try await second.stop()
        // The third worker reads the same events, but the second worker has already entered the lost owners.
        let third = try bench.start()
        try await bench.submit("s", player: "c", partition: 1, id: "of c")
        try await bench.untilAnswered("c", count: 1)
        #expect(third.metrics.databaseFallbacks.value == 0)
        try await third.stop()
        try await bench.close()
    }

    @Test("the worker asks the database for lost claims at most once per rebalance, not once per partition")
    func onceForAll() async throws {
        let bench = try PipelineBench()
        let running = try bench.start()
        let partitions = 0..<PipelineBench.submissionPartitions
        for partition in partitions {
            try await bench.submit("s\(partition)", player: "p\(partition)", partition: partition)
        }
        try await bench.untilAnswered(partitions.map { "p\($0)" }, count: 1)
        let takeovers = Int(running.metrics.rebalances.value)
        #expect(takeovers < partitions.count && (1...takeovers).contains(bench.checkpoints.claimsAsked))
        try await running.stop()
        try await bench.close()
    }

    @Test("if the worker cannot store which decisions the database lost, it restarts the partition, and decides again")
    func notStored() async throws {
        let bench = try PipelineBench()
        let checkpoints = bench.checkpoints
        let running = try bench.start()
        for number in 0..<4 { try await bench.submit("s\(number)", player: "p\(number)", partition: 0) }
        try await bench.untilCommitted(4, of: 0)
        bench.ledger.database.forgetEverything()
        checkpoints.failNextKeeps(1)
        checkpoints.fallBack(to: [0: OffsetCheckpoint(nextOffset: 1, writer: 1, version: 1)])
        try await bench.untilAnswered((1..<4).map { "p\($0)" }, count: 2)
        #expect((1..<4).allSatisfy { bench.ledger.decidedAgain("p\($0)") == [false, true] })
        try await bench.untilCommitted(4, of: 0)
        #expect(running.metrics.databaseFallbacks.value == 2)
        try await running.stop()
        try await bench.close()
    }

    @Test(
        "the worker notices a restored backup by its checkpoint rows, and reads again the records with lost decisions")
    func putBack() async throws {
        let bench = try PipelineBench()
        let checkpoints = bench.checkpoints
        let running = try bench.start()
        for number in 0..<3 { try await bench.submit("s\(number)", player: "p\(number)", partition: 0) }
        try await bench.untilCommitted(3, of: 0)
        let backup = checkpoints.rows
        for number in 3..<6 { try await bench.submit("s\(number)", player: "p\(number)", partition: 0) }
        try await bench.untilCommitted(6, of: 0)
        checkpoints.fallBack(to: backup, isNoticeable: false)
        try await bench.submit("s6", player: "p6", partition: 0)
        try await bench.untilAnswered((3..<6).map { "p\($0)" }, count: 2)
        #expect((0..<3).allSatisfy { bench.answers("p\($0)").count == 1 })
        try await bench.untilCommitted(7, of: 0)
        try await running.stop()
        try await bench.close()
    }

    @Test(
        "if a topic was recreated, the deleted topic's checkpoint row causes no commit, even while new checkpoints fail"
    )
    func topicMadeAnew() async throws {
        let bench = try PipelineBench()
        let checkpoints = bench.checkpoints
        checkpoints.fallBack(to: [0: OffsetCheckpoint(nextOffset: 30, writer: 1, version: 1)])
        checkpoints.failNextWrites(1_000_000)
        let first = try bench.start()
        for number in 0..<10 { try await bench.submit("s\(number)", player: "p\(number)", partition: 0) }
        try await bench.untilAnswered((0..<10).map { "p\($0)" }, count: 1)
        try await first.stop()
        #expect(try await bench.committed()[0] ?? 0 == 0)
        checkpoints.failNextWrites(0)
        for number in 10..<40 { try await bench.submit("s\(number)", player: "p\(number)", partition: 0) }
        let second = try bench.start()
        try await bench.changes.until("each is answered") {
            (0..<40).allSatisfy { !bench.answers("p\($0)").isEmpty }
        }
        try await bench.untilCommitted(40, of: 0)
        try await second.stop()
        try await bench.close()
    }

    @Test(
        "if a late read finds the checkpoint below Kafka's offset, the worker reads records again from the checkpoint")
    func late() async throws {
        let bench = try PipelineBench()
        let checkpoints = bench.checkpoints
        let first = try bench.start()
        for number in 0..<4 { try await bench.submit("s\(number)", player: "p\(number)", partition: 0) }
        try await bench.untilCommitted(4, of: 0)
        try await first.stop()
        checkpoints.fallBack(to: [0: OffsetCheckpoint(nextOffset: 1, writer: 1, version: 1)])
        // The read at the assignment fails. The worker starts without waiting for the second read.
        checkpoints.failNextReads(1)
        let second = try bench.start()
        try await bench.untilAnswered((1..<4).map { "p\($0)" }, count: 2)
        #expect(bench.answers("p0").count == 1)
        #expect(second.log.holds("warning the worker leaves the consumer group and joins it again"))
        try await second.stop()
        try await bench.close()
    }
}
