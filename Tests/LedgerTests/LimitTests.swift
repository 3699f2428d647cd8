import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import Testing

/// Each value of the record has its longest length, in characters of four bytes.
@Suite("Names and proofs of the greatest permitted length")
struct LimitTests {
    private static func longest(_ prefix: String, _ scalars: Int) -> String {
        prefix + String(repeating: "\u{1F600}", count: scalars - prefix.unicodeScalars.count)
    }

    private static let bundle = BundleID(longest("b", SubmissionLimits.maximumBundleIDScalars))
    private static let player = longest("p", SubmissionLimits.maximumNameScalars)
    /// A topic name of Kafka's longest length.
    private static let topic = String(repeating: "t", count: 249)
    private static let time = Sample.noon

    private static func submission(_ name: String, proofBytes: Int = 4) -> Submission {
        Submission(
            submissionID: Identifier(longest(name, SubmissionLimits.maximumNameScalars)), playerID: Identifier(player),
            bundleID: bundle, proof: .receipt(String(repeating: "M", count: proofBytes)),
            productID: ProductID(longest("g", 255)), orderID: longest("o", SubmissionLimits.maximumNameScalars),
            deviceID: Identifier(longest("d", SubmissionLimits.maximumNameScalars)))
    }

    private static func position(_ offset: Int64) -> RecordPosition {
        RecordPosition(
            topic: topic, partition: .max, offset: (1 << 62) - offset, timestamp: time,
            content: Sample.digest("limit \(offset)"))
    }

    private static func purchase(_ digit: String) -> StorePurchase {
        let id = String(repeating: digit, count: SubmissionLimits.maximumTransactionIDDigits)
        return StorePurchase(
            transactionID: Identifier(id), originalTransactionID: Identifier(id),
            productID: ProductID(longest("g", 255)), quantity: .max, purchasedAt: time, expiresAt: nil)
    }

    private static func decision(_ judged: JudgedPurchase, offset: Int64, proofBytes: Int = 4) -> PendingDecision {
        PendingDecision(
            submission: submission("s\(offset)", proofBytes: proofBytes), position: position(offset),
            proof: Sample.digest("proof \(offset)"), verdict: .each([judged]), environment: .production,
            evidence: GenuineReceipt(
                bundleID: bundle, appAppleID: .max, environment: .production, purchases: [judged.purchase]),
            decidedAt: time, catalogVersion: .max, traceparent: String(repeating: "0", count: 55),
            risk: RiskThresholds(), trace: DecisionTrace(signature: .proven, source: .apple, tries: [Sample.appleTry]))
    }

    @Test("a purchase with the longest names is granted, recalled, leased from the outbox and inspected")
    func granted() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let decision = Self.decision(Sample.judged(Self.purchase("8")), offset: 1)
        let event = try #require(try await ledger.record(decision).granted.first)
        #expect(event.playerID.text == Self.player)
        #expect(try await ledger.recall(Sample.query(for: decision)) == .answered([event]))
        let again = Self.decision(Sample.judged(Self.purchase("8")), offset: 2)
        #expect(try await ledger.record(again).reason == .alreadyGranted)
        let sweeper = OutboxSweeper(pool: database.pool)
        let waiting = try await sweeper.leaseUnpublished(topic: Self.topic, partition: .max, limit: 10)
        #expect(waiting.first?.event.value == event.value)
        let inspection = try await Inspection.of(Self.player, days: 100_000, limit: 10, in: database.pool)
        #expect(inspection.sections.first { $0.name == "outcomes" }?.rows.count == 2)
        await ledger.close()
    }

    @Test("a purchase with a proof of nearly a mebibyte is held, released, leased, and rejected by an operator")
    func held() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let judged = Sample.judged(Self.purchase("9"), nil, .hold(.unknownProduct))
        let decision = Self.decision(judged, offset: 1, proofBytes: SubmissionLimits.maximumBytes - 8_192)
        #expect(try await ledger.record(decision).reason == .unknownProduct)
        let store = HoldAdministration(pool: database.pool)
        let filter = HoldFilter(bundleID: Self.bundle.text)
        #expect(try await store.list(filter, limit: 10).map(\.playerID) == [Self.player])
        #expect(try await store.release(filter, by: Self.longestOperator) == 1)
        let hold = try #require(
            try await PostgresHolds(pool: database.pool).leaseDue(catalogVersion: 1, limit: 5).first)
        #expect(hold.submission == decision.submission && hold.position.offset == decision.position.offset)
        let refused = try await store.reject(filter, by: Self.longestOperator, at: Self.time)
        #expect(refused.rejected == 1 && refused.gone == 0 && refused.unreadable == 0)
        await ledger.close()
    }

    private static let longestOperator = longest("a", 255)

    @Test("a submission with a proof of nearly a mebibyte is parked and listed, and leased unchanged")
    func parked() async throws {
        let database = try await LedgerDatabase()
        let parking = PostgresParking(pool: LedgerDatabase.pool(database.uri))
        let submission = Self.submission("s", proofBytes: SubmissionLimits.maximumBytes - 8_192)
        let given = ParkingSubmission(
            submission: submission, position: Self.position(1), proof: Sample.digest("p"),
            traceparent: String(repeating: "0", count: 55), reason: .appleTrouble,
            detail: Self.longest("x", 4_000), history: WaitingHistory(failures: .max, parkings: .max),
            dueAfterSeconds: 0)
        #expect(try await parking.park(given).value == .parked)
        let store = ParkedAdministration(pool: database.pool)
        let filter = ParkedFilter(bundleID: Self.bundle.text)
        #expect(try await store.list(filter, limit: 10).map(\.submissionID) == [submission.submissionID.text])
        let leased = try #require(try await parking.leaseDue(limit: 5).first)
        #expect(leased.submission == submission && leased.position == given.position)
        await parking.close()
    }

    @Test(
        "if a name in a submission has a NUL character, the submission is parked, and nothing is granted",
        arguments: 0..<5)
    func nul(field: Int) async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func text(_ number: Int, _ text: String) -> String { field == number ? text + "\u{0}" : text }
        let submission = Submission(
            submissionID: Identifier(text(0, "s")), playerID: Identifier(text(1, "p")),
            bundleID: BundleID(text(2, "b")), proof: .receipt("MIIB"), orderID: "o")
        let purchase = Sample.purchase(text(3, "1000"), product: text(4, "gold"))
        let decision = PendingDecision(
            submission: submission, position: Sample.position(1), proof: Sample.digest("p"),
            verdict: .each([Sample.judged(purchase)]), environment: .production, evidence: nil,
            decidedAt: Sample.noon, catalogVersion: 1, traceparent: nil)
        #expect(try await ledger.record(decision) == .parked)
        #expect(try await database.number("SELECT count(*) FROM grants") == 0)
        #expect(try await database.number("SELECT count(*) FROM parked WHERE reason = 'database_refused'") == 1)
        await ledger.close()
    }
}
