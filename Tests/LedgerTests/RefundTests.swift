import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("Refunds in the ledger")
struct RefundTests {
    static let catalog: Catalog = {
        var product = Product(id: "gold", kind: .consumable)
        product.payload = #"{"gold":555}"#
        var app = AppPolicy(bundleID: Sample.bundle)
        app.products = ["gold": product]
        return Catalog(version: 1, apps: [app])
    }()

    enum Word {
        case refund, reversal
    }

    func received(
        _ word: Word, of id: String, original: String? = nil, kind: ProductKind = .consumable, after seconds: Int64 = 0,
        id notification: String? = nil
    ) -> ReceivedNotice {
        let signedAt = Sample.noon.adding(milliseconds: 1000 * seconds)
        let name = Identifier(notification ?? "\(word) \(id) \(seconds)")
        let refund = RefundNotice(
            id: name, change: word == .refund ? .revoked(.refund, at: signedAt) : .reversed, signedAt: signedAt,
            transaction: NotifiedTransaction(
                purchase: Sample.purchase(id, original: original), kind: kind, bundleID: Sample.bundle,
                environment: .production))
        return ReceivedNotice(
            StoreNotice(refund, type: word == .refund ? "REFUND" : "REFUND_REVERSED", id: name),
            topic: "app-store-notifications", partition: 2, traceparent: nil, decidedAt: Sample.noon)
    }

    func apply(_ received: ReceivedNotice..., in database: LedgerDatabase) async throws -> [String] {
        let applied = try await PostgresNotices(pool: database.pool).apply(received, catalog: Self.catalog).value
        return applied.effects.map { if case .applied(let effect) = $0 { effect.name } else { "refused" } }
    }

    func decision(_ id: String, offset: Int64, player: String = "player-1") -> PendingDecision {
        Sample.decision([Sample.judged(Sample.purchase(id))], player: player, offset: offset)
    }

    @Test(
        "a refund revokes a grant and the reversal reinstates the grant, once per notification and with an event each")
    func revokedAndBack() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(decision("1000", offset: 1))
        #expect(try await apply(received(.refund, of: "1000"), in: database) == ["revoked"])
        #expect(
            try await database.number("SELECT count(*) FROM grants WHERE revoked_at IS NOT NULL AND revision = 2") == 1)
        #expect(try await apply(received(.refund, of: "1000"), in: database) == ["duplicate"])
        #expect(try await ledger.record(decision("1000", offset: 2)).reason == .cancelled)
        let redelivered = try await ledger.record(decision("1000", offset: 1))
        #expect(redelivered.events.map(\.kind) == [.granted])
        #expect(try await apply(received(.reversal, of: "1000", after: 5), in: database) == ["reinstated"])
        #expect(try await apply(received(.refund, of: "1000", after: 4), in: database) == ["outdated"])
        #expect(try await database.number("SELECT count(*) FROM grants WHERE revoked_at IS NULL AND revision = 3") == 1)
        #expect(try await ledger.record(decision("1000", offset: 3)).reason == .alreadyGranted)
        let sweeper = OutboxSweeper(pool: database.pool)
        let waiting = try await sweeper.leaseUnpublished(topic: "app-store-notifications", partition: 2, limit: 10)
        #expect(waiting.map(\.event.kind) == [.revoked, .reinstated])
        #expect(waiting.map(\.recordKey) == ["player-1", "player-1"])
        #expect(waiting.map(\.eventID) == waiting.map(\.event.eventID))
        let inspection = try await Inspection.of("1000", days: 1, limit: 10, in: database.pool)
        #expect(inspection.sections.first { $0.name == "refunds" }?.rows.count == 1)
        #expect(inspection.sections.first { $0.name == "refund_notices" }?.rows.count == 3)
        await ledger.close()
    }

    @Test("the refunds and reversals of one batch take effect in their order")
    func oneBatch() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(decision("1000", offset: 1))
        let effects = try await apply(
            received(.refund, of: "1000"), received(.refund, of: "1001"), received(.reversal, of: "1000", after: 1),
            received(.refund, of: "1000"), received(.refund, of: "1000", after: 2), in: database)
        #expect(effects == ["revoked", "remembered", "reinstated", "duplicate", "revoked"])
        #expect(try await database.number("SELECT revision FROM grants") == 4)
        #expect(try await database.number("SELECT count(*) FROM outbox WHERE source_partition = 2") == 3)
        #expect(try await database.number("SELECT count(*) FROM refund_notices") == 4)
        await ledger.close()
    }

    @Test("if Apple refunds a purchase before its submission, every player is rejected as cancelled until the reversal")
    func beforeTheGrant() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        #expect(try await apply(received(.refund, of: "1000"), in: database) == ["remembered"])
        #expect(try await database.number("SELECT count(*) FROM claims WHERE player_id IS NULL") == 1)
        #expect(try await ledger.record(decision("1000", offset: 1)).reason == .cancelled)
        #expect(try await ledger.record(decision("1000", offset: 2, player: "player-2")).reason == .cancelled)
        #expect(try await apply(received(.reversal, of: "1000", after: 1), in: database) == ["remembered"])
        #expect(try await ledger.record(decision("1000", offset: 3)).granted.count == 1)
        #expect(try await database.number("SELECT count(*) FROM claims WHERE player_id = 'player-1'") == 1)
        #expect(try await apply(received(.refund, of: "1000", after: 2), in: database) == ["revoked"])
        await ledger.close()
    }

    @Test("if Apple refunded a held purchase, the released hold is rejected, or granted if Apple reversed the refund")
    func held() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let judged = { (id: String) in Sample.judged(Sample.purchase(id), .consumable, .hold(.retiredProduct)) }
        for (offset, id) in ["1000", "1001"].enumerated() {
            _ = try await ledger.record(Sample.decision([judged(id)], offset: Int64(offset)))
        }
        let effects = try await apply(
            received(.refund, of: "1000"), received(.refund, of: "1001"), received(.reversal, of: "1001", after: 1),
            in: database)
        #expect(effects == ["remembered", "remembered", "remembered"])
        let store = HoldAdministration(pool: database.pool)
        let listed = try await store.list(HoldFilter(), limit: 10)
        #expect(listed.map(\.note) == ["Apple has refunded it", nil])
        #expect(try await store.release(HoldFilter(), by: "ann") == 2)
        let holds = PostgresHolds(pool: database.pool)
        var events: [OutcomeEvent?] = []
        let taken = try await holds.leaseDue(catalogVersion: 1, limit: 5)
        for hold in taken.sorted(by: { $0.transactionID < $1.transactionID }) {
            let verdict = Verdict.each([Sample.judged(Sample.purchase(hold.transactionID.text))])
            events.append(
                try await holds.settle(
                    HoldDecision(
                        hold, verdict: verdict, environment: .production, decidedAt: Sample.noon, catalogVersion: 1)))
        }
        #expect(events.map { $0?.kind } == [.rejected, .granted])
        #expect(events.first??.reason == .cancelled)
        #expect(try await database.number("SELECT count(*) FROM grants WHERE transaction_id = '1000'") == 0)
        await ledger.close()
    }

    @Test("a refund revokes an imported grant, and a later import of a refunded purchase stores a revoked grant")
    func imported() async throws {
        let database = try await LedgerDatabase()
        func line(_ id: String) -> ImportedGrant {
            ImportedGrant(
                line: 1, transactionID: Identifier(id), originalTransactionID: Identifier(id), playerID: "old",
                bundleID: Sample.bundle, productID: "gold", quantity: 1, environment: .production, purchasedAt: nil,
                expiresAt: nil, revokedAt: nil, grantedAt: Sample.noon, submissionID: "old-1")
        }
        let importer = GrantImport(pool: database.pool)
        _ = try await importer.enter([line("1000")])
        #expect(
            try await apply(received(.refund, of: "1000"), received(.refund, of: "1001"), in: database)
                == ["revoked", "remembered"])
        #expect(try await importer.enter([line("1001")]).entered == 1)
        #expect(try await database.number("SELECT count(*) FROM grants WHERE revoked_at IS NOT NULL") == 2)
        #expect(try await database.number("SELECT count(*) FROM claims WHERE player_id = 'old'") == 2)
        // Another program inserts a grant directly. The insert also claims a transaction of which the ledger had only a
        // refund.
        _ = try await apply(received(.refund, of: "1002"), in: database)
        try await database.run(
            """
            INSERT INTO grants (transaction_id, player_id, bundle_id, product_id, quantity, environment, submission_id,
                granted_at) VALUES ('1002', 'old', 'com.example.game', 'gold', 1, 'Production', 'x', now())
            """)
        #expect(try await database.number("SELECT count(*) FROM claims WHERE player_id = 'old'") == 3)
    }

    @Test("if Apple refunds an original, the grant of its restored copy is revoked, and later restores are rejected")
    func restored() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func restored(_ id: String, offset: Int64) -> PendingDecision {
            Sample.decision([Sample.judged(Sample.purchase(id, original: "1000"), .nonConsumable)], offset: offset)
        }
        _ = try await ledger.record(restored("1001", offset: 1))
        #expect(
            try await apply(received(.refund, of: "1000", kind: .nonConsumable), in: database) == ["revoked"])
        #expect(
            try await database.number(
                "SELECT count(*) FROM grants WHERE transaction_id = '1001' AND revoked_at IS NOT NULL") == 1)
        #expect(try await ledger.record(restored("1002", offset: 2)).reason == .cancelled)
        #expect(
            try await apply(received(.reversal, of: "1000", kind: .nonConsumable, after: 1), in: database)
                == ["reinstated"])
        #expect(try await ledger.record(restored("1002", offset: 3)).reason == .alreadyGranted)
        await ledger.close()
    }

    @Test("if Apple refunds a restored copy, the original and all copies are cancelled until the original's reversal")
    func restoredCopyRefunded() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func submitted(_ id: String, offset: Int64) async throws -> RecordedOutcome {
            let purchase = Sample.purchase(id, original: "1000")
            return try await ledger.record(Sample.decision([Sample.judged(purchase, .nonConsumable)], offset: offset))
        }
        let copy = received(.refund, of: "1001", original: "1000", kind: .nonConsumable)
        #expect(try await apply(copy, in: database) == ["remembered"])
        for (offset, id) in [(1, "1000"), (2, "1001"), (3, "1002")] {
            #expect(try await submitted(id, offset: Int64(offset)).reason == .cancelled)
        }
        let reversal = received(.reversal, of: "1000", kind: .nonConsumable, after: 1)
        #expect(try await apply(reversal, in: database) == ["remembered"])
        #expect(try await submitted("1001", offset: 4).granted.count == 1)
        #expect(
            try await apply(
                received(.refund, of: "1002", original: "1000", kind: .nonConsumable, after: 2), in: database)
                == ["revoked"])
        #expect(try await submitted("1000", offset: 5).reason == .cancelled)
        await ledger.close()
    }

    @Test("after a refund, the revoked grant does not count towards a daily limit")
    func dailyLimit() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func limited(_ id: String, offset: Int64) -> PendingDecision {
            Sample.decision(
                [
                    JudgedPurchase(
                        purchase: Sample.purchase(id), kind: .consumable, verdict: .grant(payload: nil), dailyLimit: 1)
                ], offset: offset)
        }
        #expect(try await ledger.record(limited("1000", offset: 1)).granted.count == 1)
        #expect(try await ledger.record(limited("1001", offset: 2)).reason == .dailyLimit)
        _ = try await apply(received(.refund, of: "1000"), in: database)
        #expect(try await ledger.record(limited("1002", offset: 3)).granted.count == 1)
        await ledger.close()
    }

    @Test("if PostgreSQL refuses one refund notification's data, the rest of the batch takes effect")
    func refused() async throws {
        let database = try await LedgerDatabase()
        let effects = try await apply(
            received(.refund, of: "1000"), received(.refund, of: "10\u{0}01"), received(.refund, of: "1002"),
            in: database)
        #expect(effects == ["remembered", "refused", "remembered"])
    }

    @Test("if grants race against refunds on two replicas, each granted purchase that Apple refunded is revoked once")
    func race() async throws {
        let database = try await LedgerDatabase()
        let ledgers = (0..<2).map { _ in database.ledger(writers: 2) }
        let pools = (0..<2).map { _ in LedgerDatabase.pool(database.uri, size: 2) }
        let count = 200
        let outcomes = try await withThrowingTaskGroup(of: [OutcomeEvent].self) { group in
            for number in 0..<count {
                let id = String(10_000 + number)
                group.addTask {
                    try await ledgers[number % 2].record(decision(id, offset: Int64(number))).events
                }
                // Both replicas get the notification.
                for pool in pools {
                    group.addTask {
                        let applied = try await retrying {
                            try await PostgresNotices(pool: pool).apply(
                                [
                                    received(.refund, of: id, id: "\(id) refund"),
                                    received(.refund, of: String(10_000 + (number * 7) % count)),
                                ], catalog: Self.catalog)
                        }
                        return applied.value.effects.flatMap { applied -> [OutcomeEvent] in
                            if case .applied(let effect) = applied { effect.events } else { [] }
                        }
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let granted = Set(outcomes.filter { $0.kind == .granted }.map(\.subject))
        let revoked = outcomes.filter { $0.kind == .revoked }.map(\.subject)
        #expect(revoked.count == granted.count && Set(revoked) == granted)
        #expect(outcomes.count { $0.reason == .cancelled } == count - granted.count)
        #expect(try await database.number("SELECT count(*) FROM grants WHERE revoked_at IS NULL") == 0)
        #expect(try await database.number("SELECT count(*) FROM grants WHERE revision <> 2") == 0)
        #expect(try await database.number("SELECT count(*) FROM refunds") == count)
        for ledger in ledgers { await ledger.close() }
        for pool in pools { await pool.close() }
    }

    /// Runs `body` again after each retriable error, as a worker does after a deadlock of two batches.
    private func retrying<Value>(_ body: () async throws -> Value) async throws -> Value {
        while true {
            do { return try await body() } catch let error as PostgresError {
                guard error.kind == .retriable else { throw error }
            }
        }
    }
}
