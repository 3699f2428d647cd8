import Encodings
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import Testing

@Suite("Submissions whose data PostgreSQL refuses")
struct RefusedDataTests {
    @Test(
        "if PostgreSQL refuses one submission's data, it is parked, and the batch's other 99 submissions are granted",
        arguments: ["22", "23"])
    func oneOfAHundred(sqlStateClass: String) async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let culprit =
            sqlStateClass == "22"
            ? Sample.purchase("1000", product: "go\u{0}ld") : Sample.purchase("1000", quantity: 0)
        let decisions = (0..<100).map { index in
            Sample.decision(
                [Sample.judged(index == 57 ? culprit : Sample.purchase("t\(index)"))], offset: Int64(index))
        }
        let outcomes = try await recordAll(decisions, in: ledger)
        #expect(outcomes[57] == .parked)
        #expect(outcomes.flatMap(\.granted).count == 99)
        let parked = """
            SELECT count(*) FROM parked
            WHERE reason = 'database_refused' AND sql_state LIKE '\(sqlStateClass)%' AND source_offset = 57
            """
        #expect(try await database.number(parked) == 1)
        #expect(try await ledger.record(decisions[57]) == .parked)
        #expect(try await LedgerCounts.read(from: database.pool) == LedgerCounts(parked: 1, held: 0, outboxPending: 99))
        await ledger.close()
    }

    @Test("if a submission has NUL characters and extreme times, the ledger parks it, and its bytes stay readable")
    func anythingIsParked() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let submission = Submission(
            submissionID: "s\u{0}", playerID: Identifier("p\u{0}" + String(repeating: "\u{1F600}", count: 2_000)),
            bundleID: "b\u{0}", proof: .receipt("MI\u{0}IB"), orderID: "o\u{0}")
        let decision = PendingDecision(
            submission: submission, position: Sample.position(1, at: Timestamp(milliseconds: .max)),
            proof: Sample.digest("p"), verdict: .whole(.foreignApp, []), environment: .production, evidence: nil,
            decidedAt: Timestamp(milliseconds: .min), catalogVersion: 1, traceparent: "\u{0}")
        #expect(try await ledger.record(decision) == .parked)
        let stored = try await database.pool.run {
            try $0.execute(PostgresStatement("SELECT submission FROM parked_submissions")).bytes(0, 0)
        }
        let text = String(decoding: try #require(stored), as: UTF8.self)
        #expect(text.contains(#""submission_id":"s\u0000""#))
        #expect(text.contains(#""receipt_data":"MI\u0000IB""#))
        await ledger.close()
    }

    @Test("a held submission's stored bytes have its submission id and its receipt")
    func heldSubmission() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let decision = Sample.decision(
            [Sample.judged(Sample.purchase("1000"), nil, .hold(.unknownProduct))], offset: 1)
        _ = try await ledger.record(decision)
        let stored = try await database.pool.run {
            try $0.execute(
                PostgresStatement("SELECT submission FROM held_submissions JOIN holds USING (submission_key)")
            ).bytes(0, 0)
        }
        let json = try JSONParser.parse(#require(stored)).value
        #expect(json["submission_id"]?.string == decision.submission.submissionID.text)
        #expect(json["receipt_data"]?.string == "MIIB")
        await ledger.close()
    }
}
