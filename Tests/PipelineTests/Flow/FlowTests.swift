import Foundation
import Fulfillment
import Kafka
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

/// Tests on one running pipeline. Each test has its own players and receipts. A test that checks offsets has its own
/// partition.
@Suite("Submissions from Kafka to outcome events", OnePipeline())
struct FlowTests {
    private let bench: PipelineBench
    private let running: PipelineBench.Running

    init() throws {
        bench = try #require(OnePipeline.bench)
        running = try #require(OnePipeline.running)
    }

    @Test(
        "the worker decides a submission, publishes its event with traceparent, clears the outbox, commits the offset")
    func flow() async throws {
        let trace = KafkaHeader(
            name: "traceparent", value: Array("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".utf8))
        let value = Sample.value(id: "flow", player: "flow player", receipt: Sample.receipt("flow.1"))
        let offset = try await bench.send(value, partition: 0, headers: [trace])
        try await bench.untilAnswered("flow player", ["granted flow.1"])
        let event = try #require(bench.collector.all(Sample.outcomes).first { $0.header("ce_subject") == "flow.1" })
        #expect(event.header("traceparent") == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        #expect(event.header("content-type") == "application/json")
        #expect(bench.ledger.decided("flow player") == ["flow"])
        try await bench.untilCommitted(offset + 1, of: 0)
        let stored = try #require(OutcomeEvent(stored: event.value ?? []))
        try await bench.changes.until("the outbox row is gone") { bench.ledger.isPublished(stored) }
    }

    @Test(
        "if a thief has the grant, and the buyer sends the account token, the worker asks Apple and holds the purchase")
    func stolen() async throws {
        let token = "6e3b2f50-0c1d-4a5e-9f70-112233445566"
        try await bench.submit("stolen.1", player: "the thief", partition: 3)
        try await bench.untilAnswered("the thief", ["granted stolen.1"])
        guard case .genuine(var receipt) = Sample.genuine("stolen.1") else { return }
        let own = ProofContent(bundleID: Sample.bundle, environment: .production, purchases: receipt.purchases)
        bench.proofs.read(.receipt(Sample.receipt("stolen.copy")), as: .read(own, .proven))
        receipt.purchases[0].appAccountToken = token
        bench.verifier.answer("stolen.copy", .genuine(receipt))
        let text = Sample.value(id: "copy", player: "the buyer", receipt: Sample.receipt("stolen.copy"))
        let value = Array(#"{"app_account_token":"\#(token)","#.utf8) + text.dropFirst()
        try await bench.send(value, partition: 3)
        try await bench.untilAnswered("the buyer", ["held copy"])
        #expect(bench.verifier.count("stolen.copy") == 1)
        // If the submission has no token, the ledger decides alone, so the worker does not ask Apple.
        try await bench.submit("stolen.copy", player: "another", partition: 3, id: "third")
        try await bench.untilAnswered("another", ["rejected third"])
        #expect(bench.verifier.count("stolen.copy") == 1)
    }

    @Test(
        "a slow submission delays only its player's later submissions, and no committed offset passes the slow record")
    func slow() async throws {
        bench.verifier.hold("slow.1")
        let offset = try await bench.submit("slow.1", player: "slow", partition: 1)
        try await bench.untilAsked("slow.1")
        try await bench.submit("slow.2", player: "slow", partition: 1)
        for number in 0..<20 { try await bench.submit("quick.\(number)", player: "quick \(number)", partition: 1) }
        for number in 0..<20 { try await bench.untilAnswered("quick \(number)", ["granted quick.\(number)"]) }
        let last = try await bench.submit("quick.last", player: "quick last", partition: 1)
        try await bench.untilAnswered("quick last", count: 1)
        #expect(bench.verifier.count("slow.2") == 0)
        #expect(bench.answers("slow").isEmpty)
        try await bench.untilCommitted(offset, of: 1)
        bench.verifier.release("slow.1")
        try await bench.untilAnswered("slow", ["granted slow.1", "granted slow.2"])
        try await bench.untilCommitted(last + 1, of: 1)
    }

    @Test("if Apple fails once for ten of a player's submissions, the worker still decides and publishes all in order")
    func order() async throws {
        // A submission's wait behind its player's failed submissions counts towards parking. So this pipeline parks
        // only after 600 seconds.
        let bench = try PipelineBench { $0.parkAfterSeconds = 600 }
        let running = try bench.start()
        let names = (0..<ParkingPolicy.placesOfPlayer).map { "order.\($0)" }
        for name in names.prefix(10) { bench.verifier.answer(name, .trouble(.init(.timeout))) }
        for name in names { try await bench.submit(name, player: "ordered", partition: 2) }
        try await bench.untilAnswered("ordered", count: names.count)
        #expect(bench.answers("ordered") == names.map { "granted \($0)" })
        #expect(bench.ledger.decided("ordered") == names)
        try await running.stop()
        try await bench.close()
    }

    @Test("if a player's submission waits for Apple, the worker publishes the player's later local rejections first")
    func local() async throws {
        bench.verifier.hold("local.1")
        try await bench.submit("local.1", player: "local", partition: 3)
        try await bench.untilAsked("local.1")
        try await bench.submit("local.2", player: "local", partition: 3, bundle: "com.example.unknown")
        let receipt = Data("no receipt".utf8).base64EncodedString()
        try await bench.send(Sample.value(id: "local.3", player: "local", receipt: receipt), partition: 3)
        try await bench.untilAnswered("local", count: 2)
        #expect(Set(bench.answers("local")) == ["rejected local.2", "rejected local.3"])
        #expect(bench.ledger.decided("local").isEmpty)
        bench.verifier.release("local.1")
        try await bench.changes.until("what was held back is granted last") {
            bench.answers("local").last == "granted local.1"
        }
    }

    @Test("if Apple fails or refuses the credentials, the worker repeats the request until Apple answers")
    func trouble() async throws {
        bench.verifier.answer("trouble", .trouble(.init(.timeout)), .blocked(.sharedSecret), .trouble(.init(.status)))
        try await bench.submit("trouble", player: "troubled", partition: 4)
        try await bench.untilAnswered("troubled", ["granted trouble"])
        #expect(bench.verifier.count("trouble") == 4)
        #expect(running.metrics.misconfigured.with(Sample.bundle.text).value == 0)
    }

    @Test(
        "the worker rejects a receipt for a doubtful answer of Apple only after Apple has given this answer three times"
    )
    func doubt() async throws {
        let refused = AppleAnswer.refused(.malformed)
        bench.verifier.answer("doubt", refused, refused, refused, Sample.genuine("doubt"))
        try await bench.submit("doubt", player: "doubtful", partition: 4)
        try await bench.untilAnswered("doubtful", ["rejected doubt"])
        #expect(bench.verifier.count("doubt") == 3)
    }

    @Test("if a granted submission comes again, the worker repeats the grant, although Apple now refuses the receipt")
    func grantedBefore() async throws {
        guard case .genuine(var receipt) = Sample.genuine("renewed") else { return }
        receipt.holdsAutoRenewable = true
        bench.verifier.answer("renewed", .genuine(receipt), .refused(.accountNotFound), .refused(.accountNotFound))
        try await bench.submit("renewed", player: "renewing", partition: 5)
        try await bench.untilAnswered("renewing", ["granted renewed"])
        try await bench.submit("renewed", player: "renewing", partition: 5)
        try await bench.untilAnswered("renewing", count: 2)
        try await bench.submit("renewed", player: "renewing", partition: 5, id: "another")
        try await bench.untilAnswered("renewing", count: 3)
        #expect(bench.answers("renewing") == ["granted renewed", "granted renewed", "rejected another"])
        #expect(bench.verifier.count("renewed") == 3)
    }

    @Test("if the app leaves the catalog while a submission waits for Apple, the worker rejects the submission")
    func withdrawn() async throws {
        bench.verifier.hold("withdrawn")
        try await bench.submit("withdrawn", player: "withdrawn", partition: 4, bundle: Sample.withdrawnBundle)
        try await bench.untilAsked("withdrawn")
        bench.verifier.answer("withdrawn", .trouble(.init(.timeout)))
        let apps = (Sample.catalog.apps.values).filter { $0.bundleID != Sample.withdrawnBundle }
        bench.catalog.update { $0 = Catalog(version: 2, apps: apps) }
        bench.verifier.release("withdrawn")
        try await bench.untilAnswered("withdrawn", ["rejected withdrawn"])
    }

    @Test(
        "if two players submit one receipt at once, the worker asks Apple once, and grants the purchase to one player")
    func shared() async throws {
        bench.verifier.hold("shared")
        try await bench.submit("shared", player: "first sharer", partition: 5, id: "shared 1")
        try await bench.untilAsked("shared")
        try await bench.submit("shared", player: "second sharer", partition: 5, id: "shared 2")
        try await bench.submit("behind", player: "behind the sharers", partition: 5)
        try await bench.untilAnswered("behind the sharers", count: 1)
        bench.verifier.release("shared")
        try await bench.changes.until("both sharers are answered") {
            bench.answers("first sharer").count + bench.answers("second sharer").count == 2
        }
        let all = bench.answers("first sharer") + bench.answers("second sharer")
        #expect(all.count { $0 == "granted shared" } == 1)
        #expect(bench.verifier.count("shared") == 1)
    }

    @Test(
        "the worker copies a malformed record to the dead letters, and rejects the submission if the record names one")
    func deadLetters() async throws {
        let own = KafkaHeader(name: "own", value: [0xFF, 0x00])
        let offset = try await bench.send([0x7B], partition: 6, key: [1, 2], headers: [own])
        try await bench.send(nil, partition: 6)
        try await bench.send(Array(#"{"submission_id":"dead","player_id":"dead player"}"#.utf8), partition: 6)
        func buried() -> [ConsumerRecord] {
            bench.collector.all(Sample.deadLetters).filter { $0.header("dead-letter-partition") == "6" }
        }
        try await bench.changes.until("three dead letters") { buried().count == 3 }
        let letters = buried()
        let first = try #require(letters.first { $0.header("dead-letter-offset") == "\(offset)" })
        #expect(first.key == [1, 2])
        #expect(first.value == [0x7B])
        #expect(first.headers.first == own)
        #expect(first.header("dead-letter-reason") == "malformed_message")
        #expect(letters.contains { $0.value == nil })
        try await bench.untilAnswered("dead player", ["rejected dead"])
        try await bench.untilCommitted(offset + 3, of: 6)
        #expect(running.metrics.deadLetters.with("malformed_message").value >= 3)
    }

    @Test("the worker retries a failed commit of offsets, and commits no offset beyond an unfinished record")
    func commits() async throws {
        bench.verifier.hold("commit.2")
        let first = try await bench.submit("commit.1", player: "commit 1", partition: 7)
        try await bench.submit("commit.2", player: "commit 2", partition: 7)
        try await bench.submit("commit.3", player: "commit 3", partition: 7)
        try await bench.untilAnswered("commit 3", count: 1)
        try await bench.untilCommitted(first + 1, of: 7)
        // REBALANCE_IN_PROGRESS means "not yet". librdkafka does not retry after OFFSET_METADATA_TOO_LARGE (12).
        bench.cluster.pushRequestErrors(apiKey: 8, [KafkaError.Code.rebalanceInProgress, 12])
        bench.verifier.release("commit.2")
        try await bench.untilCommitted(first + 3, of: 7)
        #expect(running.fails("offsets cannot be committed"))
    }

    @Test("a worker publishes the events of an operator's decisions")
    func handedOver() async throws {
        let events = (5..<8).map { Sample.event($0, player: "of an operator") }
        bench.ledger.handOver(events)
        try await bench.untilAnswered("of an operator", count: 3)
        #expect(bench.answers("of an operator") == (5..<8).map { "granted \($0)" })
    }

    @Test("a worker publishes the events that dead replicas left in the outbox")
    func orphans() async throws {
        let events = (0..<5).map { Sample.event($0, player: "orphan") }
        bench.ledger.orphan(events)
        try await bench.untilAnswered("orphan", count: 5)
        #expect(bench.answers("orphan") == (0..<5).map { "granted \($0)" })
        try await bench.changes.until("they are off the outbox") {
            events.allSatisfy(bench.ledger.isPublished)
        }
    }
}
