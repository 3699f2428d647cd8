import Encodings
import Foundation
import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("Refund requests and deliveries in PostgreSQL")
struct RefundRequestTests {
    static func request(_ id: String, hoursAgo: Double = 0) -> RefundRequest {
        RefundRequest(
            id: Identifier("n-\(id)"), transactionID: Identifier(id), originalTransactionID: Identifier(id),
            bundleID: Sample.bundle, environment: .production, productID: "gold", reason: nil,
            signedAt: Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 - hoursAgo * 3600) * 1000)))
    }

    func enter(_ requests: [RefundRequest], in database: LedgerDatabase) async throws -> [OutcomeEvent] {
        try await database.pool.run { session in
            try session.transaction {
                try RefundRequestWrite.enter(requests, at: Sample.noon, in: $0)
            }
        }
    }

    func grant(_ ids: [String], finishes: Bool = false, in ledger: PostgresLedger) async throws {
        for (offset, id) in ids.enumerated() {
            let decision = PendingDecision(
                submission: Sample.submission("s-\(id)", player: "player-1"), position: Sample.position(Int64(offset)),
                proof: Sample.digest(id), verdict: .each([Sample.judged(Sample.purchase(id))]),
                environment: .production, evidence: nil, decidedAt: Sample.noon, catalogVersion: 1, traceparent: nil,
                finishesGrants: finishes)
            _ = try await ledger.record(decision)
        }
    }

    @Test(
        "a refund request's event is in the outbox under the player's key, and inspect shows request, report and result"
    )
    func shown() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        try await grant(["1000", "1001"], finishes: true, in: ledger)
        let events = try await enter([Self.request("1001"), Self.request("1000"), Self.request("7000")], in: database)
        #expect(events.map(\.subject) == ["1001", "1000"])
        let waiting = try await OutboxSweeper(pool: database.pool).leaseUnpublished(
            topic: RefundRequestWrite.sourceTopic, partition: -1, limit: 10)
        #expect(waiting.map(\.event) == events)
        #expect(waiting.map(\.recordKey) == ["player-1", "player-1"])
        let store = PostgresRefundRequests(pool: database.pool)
        _ = try await store.enter([
            ConsumptionReport(
                transactionID: "1000", bundleID: Sample.bundle,
                content: ConsumptionReport.Content(consumedMilliPercent: 5))
        ])
        let leased = try #require(try await store.leaseDueRequests(limit: 5, waitSeconds: 3600, at: Sample.noon).first)
        try await store.end(
            leased, as: .accepted,
            answer: ConsumptionAnswer(
                delivery: .delivered, providesSampleContent: true, consumedMilliPercent: 5, refundPreference: .decline))
        for name in ["1000", "player-1", "n-1000"] {
            let inspection = try await Inspection.of(name, days: 1, limit: 10, in: database.pool)
            let rows = inspection.sections.first { $0.name == "refund_requests" }?.rows ?? []
            let one = try #require(rows.first { $0["transaction_id"]?.string == "1000" }, "\(name)")
            #expect(one["result"]?.string == "accepted" && one["refund_preference"]?.string == "decline")
        }
        let inspection = try await Inspection.of("1000", days: 1, limit: 10, in: database.pool)
        for name in ["consumption_reports", "finishes"] {
            #expect(inspection.sections.first { $0.name == name }?.rows.count == 1, "\(name)")
        }
        await ledger.close()
    }

    @Test("if a refund request precedes the grant, it is looked up each minute, and then waits for the game's report")
    func early() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let store = PostgresRefundRequests(pool: database.pool)
        func lease() async throws -> [String] {
            try await store.leaseDueRequests(limit: 5, waitSeconds: 600, at: Sample.noon)
                .map(\.request.transactionID.text)
        }
        let asked = ["1000", "1001", "1002"].map { Self.request($0, hoursAgo: $0 == "1001" ? 10.5 : 0) }
        #expect(try await enter(asked, in: database).isEmpty)
        let waiting = """
            SELECT count(*) FROM refund_requests
            WHERE player_id IS NULL AND tries = 0
                AND due_at BETWEEN taken_at + interval '60 s' AND now() + interval '60 s'
            """
        #expect(try await database.number(waiting) == 3)
        try await grant(["1000", "1001"], in: ledger)
        try await database.run("UPDATE refund_requests SET due_at = due_at + interval '1 hour'")
        #expect(try await lease().isEmpty)
        #expect(try await database.number("SELECT count(*) FROM refund_requests WHERE player_id IS NULL") == 3)
        try await database.run("UPDATE refund_requests SET due_at = now()")
        // A request waits for the game's report only until two hours before the deadline.
        #expect(try await lease() == ["1001"])
        #expect(try await database.number(waiting) == 1)
        #expect(
            try await database.number(
                """
                SELECT count(*) FROM refund_requests
                WHERE transaction_id = '1000' AND player_id = 'player-1' AND kind = 'consumable'
                    AND due_at BETWEEN taken_at + interval '600 s' AND now() + interval '600 s'
                """) == 1)
        let told = try await OutboxSweeper(pool: database.pool).leaseUnpublished(
            topic: RefundRequestWrite.sourceTopic, partition: -1, limit: 10)
        #expect(
            told.map(\.event)
                == asked.prefix(2).map { OutcomeEvent.refundRequested($0, by: "player-1", at: Sample.noon) })
        #expect(told.map(\.recordKey) == ["player-1", "player-1"])
        _ = try await store.enter([ConsumptionReport(transactionID: "1000", bundleID: Sample.bundle)])
        #expect(try await lease() == ["1000"])
        await ledger.close()
    }

    @Test("if a refund request precedes the grant, concurrent leases make one event, and none for an erased player")
    func earlyAtOnce() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let ids = (0..<20).map { "\(1000 + $0)" }
        _ = try await enter(ids.map { Self.request($0) }, in: database)
        try await grant(ids, in: ledger)
        var random = SystemRandomNumberGenerator()
        let pseudonym = Pseudonym.make(using: &random)
        try await database.run(
            """
            UPDATE refund_requests SET due_at = now();
            UPDATE grants SET player_id = '\(pseudonym)' WHERE transaction_id = '1000'
            """)
        let store = PostgresRefundRequests(pool: database.pool)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { _ = try await store.leaseDueRequests(limit: 5, waitSeconds: 600, at: Sample.noon) }
            }
            try await group.waitForAll()
        }
        let told = try await OutboxSweeper(pool: database.pool).leaseUnpublished(
            topic: RefundRequestWrite.sourceTopic, partition: -1, limit: 50)
        #expect(told.map(\.event.subject.text).sorted() == Array(ids.dropFirst()))
        #expect(try await database.number("SELECT count(*) FROM refund_requests WHERE player_id IS NULL") == 0)
        await ledger.close()
    }

    @Test("an announced purchase refused as retired_product is undelivered; one refused as already_granted is not")
    func seats() async throws {
        let database = try await LedgerDatabase()
        let reasons = ["already_granted", "owned_by_other_player", "retired_product"]
        for (place, reason) in reasons.enumerated() {
            let id = "\(1000 + place)"
            try await AnnouncedSubject.enter([try AnnouncedSubject.told(id)], in: database.pool)
            try await database.run(
                """
                UPDATE announced_purchases
                SET state = 'refused', reason = '\(reason)', player_id = 'player-1', due_at = NULL, awaits_submission = false
                WHERE transaction_id = '\(id)'
                """)
        }
        let asked = reasons.indices.map { Self.request("\(1000 + $0)") }
        #expect(try await enter(asked, in: database).count == 3)
        let leased = try await PostgresRefundRequests(pool: database.pool)
            .leaseDueRequests(limit: 5, waitSeconds: 0, at: Sample.noon)
            .sorted { $0.request.transactionID < $1.request.transactionID }
        #expect(leased.map(\.delivery) == [.unknown, .unknown, .undelivered])
    }

    @Test("if a grant is partly revoked, its refund request is leased as granted; if wholly revoked, as revoked")
    func parts() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        try await grant(["1000", "1001"], in: ledger)
        try await database.run(
            """
            UPDATE grants SET quantity = 10, revoked_at = now(),
                revoked_units = CASE WHEN transaction_id = '1000' THEN 3 ELSE 10 END;
            INSERT INTO refunds (transaction_id, bundle_id, environment, original_transaction_id, product_id, revoked_at,
                reason, refunded_milli_percent, signed_at)
            SELECT transaction_id, bundle_id, environment, transaction_id, product_id, now(), 'refund', revoked_units * 10000,
                now()
            FROM grants
            """)
        _ = try await enter([Self.request("1000", hoursAgo: 10.5), Self.request("1001", hoursAgo: 10.5)], in: database)
        let leased = try await PostgresRefundRequests(pool: database.pool).leaseDueRequests(
            limit: 5, waitSeconds: 0, at: Sample.noon
        )
        .sorted { $0.request.transactionID < $1.request.transactionID }
        #expect(leased.map(\.delivery) == [.granted(isAcknowledged: false), .revoked])
        await ledger.close()
    }

    @Test("a refund request waits for the game's report until two hours before the deadline; a lease lasts a minute")
    func due() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        try await grant(["1000", "1001"], in: ledger)
        _ = try await enter([Self.request("1000"), Self.request("1001", hoursAgo: 10.5)], in: database)
        let store = PostgresRefundRequests(pool: database.pool)
        #expect(
            try await store.leaseDueRequests(limit: 5, waitSeconds: 36_000, at: Sample.noon).map(
                \.request.transactionID) == ["1001"])
        #expect(
            try await database.number(
                """
                SELECT count(*) FROM refund_requests
                WHERE (transaction_id = '1000' AND tries = 0 AND due_at = answer_by - interval '2 hours')
                    OR (transaction_id = '1001' AND tries = 1 AND due_at > now() + interval '50 seconds')
                """) == 2)
        await ledger.close()
    }

    @Test(
        "each lease of a delivery report lengthens the next one up to a limit; a due time three days ahead is corrected"
    )
    func distances() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        try await grant(["1000"], finishes: true, in: ledger)
        let store = PostgresFinishes(pool: database.pool)
        var last = 0
        for tries in 0..<14 {
            try await database.run("DELETE FROM outbox; UPDATE finishes SET due_at = now()")
            #expect(try await store.leaseDueFinishes(limit: 5).count == 1)
            let seconds = try await database.number(
                "SELECT extract(epoch FROM due_at - now())::int FROM finishes")
            let ceiling = Int(min(60.0 * Double(1 << tries), PostgresFinishes.longestLeaseSeconds) * 1.5) + 1
            #expect(seconds <= ceiling)
            if tries < 8 { #expect(seconds * 3 > last * 2) }
            last = seconds
        }
        try await database.run("UPDATE finishes SET due_at = now() + interval '3 days'")
        // A store corrects due times that lie too far ahead at its first lease, and then once a minute.
        let other = PostgresFinishes(pool: database.pool)
        #expect(try await other.leaseDueFinishes(limit: 5).count == 1)
        await ledger.close()
    }

    @Test("a delivery report waits until the grant's event is published, and does not delay published grants' reports")
    func owed() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let ids = (0..<30).map { "10\($0 + 10)" }
        try await grant(ids, finishes: true, in: ledger)
        let last = OutcomeEvent.eventID(.granted, transaction: "1039", revision: 1)
        try await database.run(
            "DELETE FROM outbox WHERE event_id = '\(last)'; UPDATE finishes SET due_at = now() - interval '1 s'")
        try await database.run("UPDATE finishes SET due_at = now() WHERE transaction_id = '1039'")
        let leased = try await PostgresFinishes(pool: database.pool).leaseDueFinishes(limit: 2)
        #expect(leased.map(\.transactionID) == ["1039"])
        #expect(try await database.number("SELECT count(*) FROM finishes WHERE due_at > now() AND tries = 0") == 29)
        await ledger.close()
    }

    @Test(
        "maintenance deletes old deliveries, refund requests, reports and unowned subscriptions, but no open delivery")
    func pruned() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        try await grant(["1000", "1001"], finishes: true, in: ledger)
        _ = try await enter([Self.request("1000")], in: database)
        let store = PostgresRefundRequests(pool: database.pool)
        _ = try await store.enter([ConsumptionReport(transactionID: "1", bundleID: "a")])
        try await database.run(
            """
            UPDATE finishes SET due_at = NULL, result = 'finished', ended_on = current_date - 31
            WHERE transaction_id = '1000';
            UPDATE refund_requests SET taken_at = now() - interval '201 days';
            UPDATE consumption_reports SET told_at = now() - interval '31 days';
            INSERT INTO unowned_subscriptions (
                original_transaction_id, bundle_id, product_id, state, environment, period_began_at)
            SELECT days::text, 'a', 'p', 'active', 'Production', now() - days * interval '1 day'
            FROM unnest(ARRAY[399, 401, 402]) AS days
            """)
        let report = try await OutcomeRetention.look(in: database.pool, days: 400)
        #expect(
            report.pruned.finishes == 1 && report.pruned.refundRequests == 1 && report.pruned.consumptionReports == 1)
        #expect(try await database.number("SELECT count(*) FROM finishes") == 1)
        #expect(try await database.number("SELECT max(original_transaction_id::int) FROM unowned_subscriptions") == 399)
        await ledger.close()
    }

    @Test("if PostgreSQL refuses the data of one consumption report, the other reports are stored all the same")
    func refused() async throws {
        let database = try await LedgerDatabase()
        let store = PostgresRefundRequests(pool: database.pool)
        let entered = try await store.enter([
            ConsumptionReport(transactionID: "1", bundleID: "a"),
            ConsumptionReport(transactionID: "2", bundleID: "a\0b"),
            ConsumptionReport(transactionID: "3", bundleID: "a"),
        ])
        #expect(entered.value == [.entered, .refused, .entered])
        #expect(entered.history != nil)
        #expect(try await database.number("SELECT count(*) FROM consumption_reports") == 2)
    }
}
