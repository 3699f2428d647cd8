import Fulfillment
import TestSupport
import Testing

@testable import Ledger

@Suite("A second decision on a record that the worker refused locally")
struct SecondDecisionTests {
    private func with(
        _ implementation: Implementation, _ body: (any PurchaseLedger, any UnpublishedEvents) async throws -> Void
    ) async throws {
        switch implementation {
        case .inMemory:
            let ledger = InMemoryLedger()
            try await body(ledger, ledger)
        case .postgres:
            let database = try await LedgerDatabase()
            let ledger = database.ledger()
            try await body(ledger, PostgresOutbox(ledger: ledger, sweeper: OutboxSweeper(pool: database.pool)))
            await ledger.close()
        }
    }

    private func second(_ purchases: [StorePurchase], player: String = "player-1") -> PendingDecision {
        PendingDecision(
            submission: Sample.submission("s", player: player), position: Sample.position(1).ofSecondDecision,
            proof: Sample.digest("p"), verdict: .each(purchases.map { Sample.judged($0) }),
            environment: .production, evidence: nil, decidedAt: Sample.noon, catalogVersion: 1, traceparent: nil,
            isSecond: true)
    }

    private func owed(_ outbox: any UnpublishedEvents) async throws -> [OutcomeEvent] {
        try await outbox.unpublished(topic: Sample.topic, partition: 0, limit: 10).map(\.event)
    }

    @Test(
        "if a locally refused record is decided again, the grant's event is in the outbox; a recall finds nothing",
        arguments: Implementation.allCases)
    func grants(implementation: Implementation) async throws {
        try await with(implementation) { ledger, outbox in
            let decision = second([Sample.purchase("1000")])
            let outcome = try await ledger.record(decision)
            #expect(outcome.events.map(\.kind) == [.granted])
            #expect(try await owed(outbox) == outcome.events)
            let query = RecallQuery(
                position: Sample.position(1), proof: Sample.digest("p"), mayBeRedelivered: true)
            #expect(try await ledger.recall(query) == .nothing)
            // The ledger records the same decision again, then the same submission from another record.
            #expect(try await ledger.record(decision) == outcome)
            let again = PendingDecision(
                submission: decision.submission, position: Sample.position(2), proof: decision.proof,
                verdict: decision.verdict, environment: .production, evidence: nil, decidedAt: Sample.noon,
                catalogVersion: 1, traceparent: nil)
            #expect(try await ledger.record(again).events == outcome.events)
            #expect(try await owed(outbox) == outcome.events)
        }
    }

    @Test(
        "if an operator rejects a submission that was granted, the answer is the grant, whose event is published again")
    func refusedByOperator() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func again(_ reason: Reason, _ offset: Int64) async throws -> RecordedOutcome {
            try await ledger.record(
                Sample.decision(.whole(reason, []), offset: offset, submission: "same", proof: "same"))
        }
        let first = try await ledger.record(
            Sample.decision([Sample.judged(Sample.purchase("1000"))], offset: 1, submission: "same", proof: "same"))
        try await database.run("DELETE FROM outbox")
        #expect(try await again(.accountNotFound, 2) == first)
        #expect(try await database.number("SELECT count(*) FROM outbox") == 0)
        #expect(try await again(.refusedByOperator, 3) == first)
        #expect(try await database.number("SELECT count(*) FROM outbox WHERE transaction_id = '1000'") == 1)
        await ledger.close()
    }

    @Test(
        "if a locally refused record is rejected again, the decision is stored, and no second event is published",
        arguments: Implementation.allCases)
    func rejects(implementation: Implementation) async throws {
        try await with(implementation) { ledger, outbox in
            let purchase = Sample.purchase("1000")
            let first = try await ledger.record(
                Sample.decision([Sample.judged(purchase)], player: "player-2", offset: 9))
            ledger.published(first.events.map(\.eventID))
            let decision = second([purchase])
            let outcome = try await ledger.record(decision)
            #expect(outcome.reason == .ownedByOtherPlayer && outcome.events.filter(decision.publishes).isEmpty)
            #expect(try await ledger.record(decision) == outcome)
            let owed = try await owed(outbox)
            #expect(!owed.contains { $0.kind == .rejected })
        }
    }
}
