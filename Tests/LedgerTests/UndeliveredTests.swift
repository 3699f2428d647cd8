import Encodings
import Foundation
import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("Undelivered purchases")
struct UndeliveredTests {
    private let database: LedgerDatabase
    private let ledger: PostgresLedger
    private let requests: PostgresRefundRequests

    init() async throws {
        database = try await LedgerDatabase()
        ledger = database.ledger()
        requests = PostgresRefundRequests(pool: database.pool)
    }

    private static func decision(
        _ verdict: Verdict, offset: Int64, player: String = "player-1", provesPossession: Bool = true,
        cutover: Timestamp? = nil, parkedID: NameBasedUUID? = nil, tokenUse: AccountTokenUse = .none
    ) -> PendingDecision {
        PendingDecision(
            submission: Sample.submission("s-\(offset)", player: player), position: Sample.position(offset),
            proof: Sample.digest("proof \(offset)"), verdict: verdict, environment: .production, evidence: nil,
            decidedAt: Sample.noon, catalogVersion: 1, traceparent: nil, parkedID: parkedID, tokenUse: tokenUse,
            undeliveredTerms: UndeliveredTerms(provesPossession: provesPossession, cutover: cutover))
    }

    private static func rejected(
        _ id: String, _ reason: Reason, _ kind: ProductKind? = .consumable,
        change: (inout StorePurchase) -> Void = { _ in }
    ) -> JudgedPurchase {
        var purchase = Sample.purchase(id)
        change(&purchase)
        return Sample.judged(purchase, kind, .reject(reason))
    }

    /// Enters a refund request for each id. Returns the player in the event and the delivery status for Apple.
    private func ask(_ ids: String..., original: String? = nil) async throws -> [String] {
        let asked = ids.map { id in
            RefundRequest(
                id: Identifier("n-\(id)-\(UUID())"), transactionID: Identifier(id),
                originalTransactionID: Identifier(original ?? id), bundleID: Sample.bundle, environment: .production,
                productID: "gold", reason: nil, signedAt: .current)
        }
        let events = try await database.pool.run { session in
            try session.transaction {
                try RefundRequestWrite.enter(asked, at: Sample.noon, in: $0)
            }
        }
        let leased = try await requests.leaseDueRequests(limit: 50, waitSeconds: 0, at: Sample.noon)
        return asked.map { request in
            let event = events.first { $0.subject == request.transactionID }
            let delivery = leased.first { $0.request.id == request.id }?.delivery
            return "\(event?.playerID.text ?? "-") \(delivery.map { "\($0)" } ?? "-")"
        }
    }

    @Test("a purchase that a rule rejects is undelivered, unless it is granted elsewhere, unpaid or refunded")
    func refused() async throws {
        let later = Sample.noon.adding(milliseconds: 86_400_000)
        let kept: [Reason] = [.retiredProduct, .subscriptionExpired]
        let others: [Reason] = [.alreadyGranted, .familyShared, .upgraded, .cancelled]
        for (place, reason) in (kept + others).enumerated() {
            _ = try await ledger.record(
                Self.decision(.each([Self.rejected("100\(place)", reason)]), offset: Int64(place)))
        }
        #expect(
            try await ask("1000", "1001", "1002", "1003", "1004", "1005")
                == ["player-1 undelivered", "player-1 undelivered", "- -", "- -", "- -", "- -"])
        // Purchase 2000 is from before the cut-over, and 2001 is refunded.
        _ = try await ledger.record(
            Self.decision(.each([Self.rejected("2000", .retiredProduct)]), offset: 10, cutover: later))
        _ = try await ledger.record(
            Self.decision(
                .each([Self.rejected("2001", .retiredProduct) { $0.cancelledAt = Sample.noon }]), offset: 11))
        #expect(try await ask("2000", "2001") == ["- -", "- -"])
        // Another player's submission of 1000 leaves the undelivered row with player 1.
        _ = try await ledger.record(
            Self.decision(.each([Self.rejected("1000", .retiredProduct)]), offset: 12, player: "player-2"))
        #expect(try await ask("1000") == ["player-1 undelivered"])
        await ledger.close()
    }

    @Test("a purchase rejected for binding_mismatch is undelivered to the sender, unless the token is another player's")
    func binding() async throws {
        func refused(_ id: String, _ token: String?) -> JudgedPurchase {
            Self.rejected(id, .bindingMismatch) { $0.appAccountToken = token }
        }
        try await database.run(
            """
            INSERT INTO account_tokens (bundle_id, token, player_id, learnt_at)
            VALUES ('\(Sample.bundle)', sha256('learnt'), 'player-3', now()), ('\(Sample.bundle)', sha256('own'), 'player-1', now());
            INSERT INTO player_accounts (bundle_id, token, player_id, source_partition, source_offset, source_timestamp)
            VALUES ('\(Sample.bundle)', sha256('told'), 'player-3', 0, 0, now())
            """)
        let purchases = [
            refused("1000", nil), refused("1001", "nobody's"), refused("1002", "own"), refused("1003", "learnt"),
            refused("1004", "told"),
        ]
        _ = try await ledger.record(Self.decision(.each(purchases), offset: 1, tokenUse: .holds))
        let own = "player-1 undelivered"
        #expect(try await ask("1000", "1001", "1002", "1003", "1004") == [own, own, own, "- -", "- -"])
        // The sender of 2000 did not prove possession. The account tokens of 2001 and 2002 are players' ids.
        _ = try await ledger.record(
            Self.decision(.each([refused("2000", nil)]), offset: 2, provesPossession: false, tokenUse: .holds))
        _ = try await ledger.record(
            Self.decision(.each([refused("2001", "player-2"), refused("2002", "player-1")]), offset: 3))
        #expect(try await ask("2000", "2001", "2002") == ["- -", "- -", own])
        // Player 2's retired_product rejection gives the purchase to player 2 permanently, and player 2's
        // binding_mismatch does not. A grant takes precedence over every rejection.
        for (offset, reason) in [(10, Reason.bindingMismatch), (11, .retiredProduct)] {
            _ = try await ledger.record(
                Self.decision(.each([Self.rejected("1000", reason)]), offset: Int64(offset), player: "player-2"))
            #expect(try await ask("1000") == [reason == .bindingMismatch ? own : "player-2 undelivered"])
        }
        _ = try await ledger.record(Self.decision(.each([refused("1000", nil)]), offset: 12))
        #expect(try await ask("1000") == ["player-2 undelivered"])
        _ = try await ledger.record(
            Self.decision(.each([Sample.judged(Sample.purchase("1001"))]), offset: 13, player: "player-2"))
        #expect(try await ask("1001") == ["player-2 granted(isAcknowledged: false)"])
        await ledger.close()
    }

    @Test("inspect lists the undelivered purchases of a transaction or of a player")
    func inspected() async throws {
        _ = try await ledger.record(
            Self.decision(
                .each([Self.rejected("1000", .retiredProduct), Self.rejected("1001", .subscriptionExpired)]), offset: 1)
        )
        _ = try await ledger.record(
            Self.decision(.each([Self.rejected("1002", .retiredProduct)]), offset: 2, player: "player-2"))
        let kept: [(id: String, transactions: Set<String>)] = [
            ("1000", ["1000"]), ("player-1", ["1000", "1001"]), ("player-3", []),
        ]
        for (id, transactions) in kept {
            let sections = try await Inspection.of(id, days: 1, limit: 10, in: database.pool).sections
            let rows = try #require(sections.first { $0.name == "undelivered" }?.rows, "\(id)")
            #expect(Set(rows.compactMap { $0["transaction_id"]?.string }) == transactions, "\(id)")
            #expect(rows.allSatisfy { $0["player_id"]?.string == "player-1" }, "\(id)")
        }
        let limited = try await Inspection.of("player-1", days: 1, limit: 1, in: database.pool).sections
        #expect(limited.first { $0.name == "undelivered" }?.rows.count == 1)
        await ledger.close()
    }

    @Test("if receiptd rejects a whole submission that proves possession, its twenty newest purchases are undelivered")
    func whole() async throws {
        let many = (0..<30).map { number in
            Sample.purchase("\(1000 + number)", at: Sample.noon.adding(milliseconds: Int64(number)))
        }
        _ = try await ledger.record(Self.decision(.whole(.productMismatch, many), offset: 1))
        #expect(try await ask("1009", "1010", "1029") == ["- -", "player-1 undelivered", "player-1 undelivered"])
        _ = try await ledger.record(
            Self.decision(.whole(.productMismatch, [Sample.purchase("2000")]), offset: 2, provesPossession: false))
        _ = try await ledger.record(Self.decision(.whole(.foreignApp, [Sample.purchase("2001")]), offset: 3))
        _ = try await ledger.record(Self.decision(.whole(.sandboxNotAllowed, [Sample.purchase("2002")]), offset: 4))
        #expect(try await ask("2000", "2001", "2002") == ["- -", "- -", "player-1 undelivered"])
        await ledger.close()
    }

    @Test("an expired period is not undelivered if a second period of the receipt, or the same period, is granted")
    func periods() async throws {
        let end = Sample.noon.adding(milliseconds: 86_400_000)
        func period(
            _ id: String, _ end: Timestamp?, _ verdict: JudgedPurchase.Verdict, at start: Timestamp = Sample.noon
        ) -> JudgedPurchase {
            Sample.judged(
                Sample.purchase(id, original: "1000", product: "pass", expires: end, at: start),
                .autoRenewableSubscription, verdict)
        }
        _ = try await ledger.record(
            Self.decision(
                .each([
                    period("1000", Sample.noon, .reject(.subscriptionExpired)),
                    period("1001", end, .grant(payload: nil)),
                ]),
                offset: 1))
        #expect(try await ask("1000", original: "1000") == ["- -"])
        // 1002 is a seat that joined the granted period later, rejected after the period's end. 1003 is a period that
        // receiptd never delivered.
        let later = Sample.noon.adding(milliseconds: 1)
        _ = try await ledger.record(
            Self.decision(.each([period("1002", end, .reject(.subscriptionExpired), at: later)]), offset: 2))
        _ = try await ledger.record(
            Self.decision(
                .each([period("1003", end.adding(milliseconds: 1), .reject(.subscriptionExpired))]), offset: 3))
        #expect(
            try await ask("1002", "1003", original: "1000") == ["player-1 unknown", "player-1 undelivered"])
        await ledger.close()
    }

    @Test("a purchase of a parked, proven submission counts as undelivered until the submission is decided")
    func parked() async throws {
        let parking = PostgresParking(pool: database.pool)
        func park(
            _ offset: Int64, _ purchases: [StorePurchase], of bundle: BundleID = Sample.bundle,
            cutover: Timestamp? = nil
        ) async throws {
            let evidence = GenuineReceipt(bundleID: bundle, environment: .production, purchases: purchases)
            _ = try await parking.park(
                ParkingSubmission(
                    submission: Sample.submission("s-\(offset)", player: "player-1"), position: Sample.position(offset),
                    proof: Sample.digest("proof \(offset)"), isProven: true, evidence: evidence, cutover: cutover,
                    traceparent: nil, reason: .appleTrouble, history: WaitingHistory(failures: 1), dueAfterSeconds: 0))
        }
        try await park(1, [Sample.purchase("1000"), Sample.purchase("1001"), Sample.purchase("1002")])
        try await park(2, [Sample.purchase("2000")], of: "com.example.other")
        _ = try await parking.park(Sample.parking(3))
        #expect(
            try await ask("1000", "1001", "1002", "2000")
                == ["player-1 undelivered", "player-1 undelivered", "player-1 undelivered", "- -"])
        #expect(try await database.number("SELECT count(*) FROM parked") == 3)
        // 5001 belongs to a subscription that another player owns. 5002 is from before the cut-over.
        _ = try await ledger.record(
            Self.decision(
                .each([Sample.judged(Sample.purchase("5000"), .autoRenewableSubscription)]), offset: 9,
                player: "player-2"))
        try await park(4, [Sample.purchase("5001", original: "5000")])
        try await park(5, [Sample.purchase("5002")], cutover: Sample.noon.adding(milliseconds: 1))
        #expect(try await ask("5001", original: "5000") == ["- -"])
        #expect(try await ask("5002") == ["- -"])
        let verdict = Verdict.each([
            Sample.judged(Sample.purchase("1000")), Self.rejected("1001", .familyShared),
            Self.rejected("1002", .retiredProduct),
        ])
        _ = try await ledger.record(Self.decision(verdict, offset: 1, parkedID: Sample.position(1).parkedID))
        #expect(
            try await ask("1000", "1001", "1002")
                == ["player-1 granted(isAcknowledged: false)", "- -", "player-1 undelivered"])
        #expect(try await database.number("SELECT count(*) FROM undelivered") == 1)
        await parking.close()
        await ledger.close()
    }

    @Test("if a rule rejects a held purchase, the purchase counts as undelivered")
    func held() async throws {
        let hold = Sample.judged(Sample.purchase("1000"), nil, .hold(.unknownProduct))
        _ = try await ledger.record(Self.decision(.each([hold]), offset: 1))
        let holds = PostgresHolds(pool: database.pool)
        let leased = try #require(try await holds.leaseDue(catalogVersion: 2, limit: 5).first)
        _ = try await holds.settle(
            HoldDecision(
                leased, verdict: .each([Self.rejected("1000", .retiredProduct)]), environment: .production,
                decidedAt: Sample.noon, catalogVersion: 2))
        #expect(try await ask("1000") == ["player-1 undelivered"])
        await ledger.close()
    }

    @Test("if a refund request precedes the purchase's rejection, it is leased as undelivered after the rejection")
    func early() async throws {
        #expect(try await ask("1000") == ["- -"])
        _ = try await ledger.record(Self.decision(.each([Self.rejected("1000", .retiredProduct)]), offset: 1))
        try await database.run("UPDATE refund_requests SET due_at = now()")
        let leased = try await requests.leaseDueRequests(limit: 5, waitSeconds: 0, at: Sample.noon)
        #expect(leased.map(\.delivery) == [.undelivered])
        await ledger.close()
    }

    @Test("the ledger deletes an undelivered purchase after 180 days, or with the erasure of its player")
    func forgotten() async throws {
        for (offset, player) in ["player-1", "player-2", "player-3"].enumerated() {
            _ = try await ledger.record(
                Self.decision(
                    .each([Self.rejected("100\(offset)", .retiredProduct)]), offset: Int64(offset), player: player))
        }
        try await database.run(
            "UPDATE undelivered SET decided_at = now() - interval '182 days' WHERE transaction_id = '1000'")
        #expect(try await OutcomeRetention.look(in: database.pool, days: 400).pruned.undelivered == 1)
        try await database.run("DELETE FROM outbox")
        var random = SystemRandomNumberGenerator()
        let erased = try await PlayerErasure(of: "player-2", in: database.pool)
            .run(pseudonym: Pseudonym.make(using: &random), by: "ann")
        #expect(erased.isComplete)
        #expect(try await database.number("SELECT count(*) FROM undelivered") == 1)
        #expect(try await ask("1002") == ["player-3 undelivered"])
        await ledger.close()
    }
}
