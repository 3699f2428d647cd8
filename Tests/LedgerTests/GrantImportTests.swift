import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("The import of another system's grants")
struct GrantImportTests {
    private func grant(
        _ id: String, original: String? = nil, player: String = "player-1", line: Int = 1,
        revokedAt: Timestamp? = nil
    ) -> ImportedGrant {
        ImportedGrant(
            line: line, transactionID: Identifier(id), originalTransactionID: Identifier(original ?? id),
            playerID: Identifier(player), bundleID: Sample.bundle, productID: "gold", quantity: 2,
            environment: .production, purchasedAt: Sample.noon, expiresAt: nil, revokedAt: revokedAt,
            grantedAt: Sample.noon, submissionID: "import")
    }

    @Test("an imported transaction counts as granted, and a second import of the transaction changes nothing")
    func repeated() async throws {
        let database = try await LedgerDatabase()
        let importing = GrantImport(pool: database.pool)
        let rows = (0..<500).map { grant("\($0)", line: $0 + 2) } + [grant("7", line: 600)]
        #expect(try await importing.enter(rows) == GrantImport.Entered(entered: 500, conflicts: []))
        #expect(try await importing.enter(rows).entered == 0)
        #expect(try await database.number("SELECT count(*) FROM grants WHERE quantity = 2 AND event IS NULL") == 500)
        #expect(try await database.number("SELECT count(*) FROM claims WHERE player_id = 'player-1'") == 500)
        let ledger = database.ledger()
        let same = try await ledger.record(Sample.decision([Sample.judged(Sample.purchase("7"))], offset: 1))
        #expect(same.reason == .alreadyGranted)
        let restored = Sample.judged(Sample.purchase("9000", original: "8"), .nonConsumable)
        #expect(try await ledger.record(Sample.decision([restored], offset: 2)).reason == .alreadyGranted)
        await ledger.close()
    }

    @Test("if an imported restored copy is in force, further copies are rejected, even if the original is revoked")
    func copyInForce() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let first = Sample.judged(Sample.purchase("40"), .nonConsumable)
        _ = try await ledger.record(Sample.decision([first], offset: 1))
        try await database.run("UPDATE grants SET revoked_at = now(), revoked_units = quantity")
        _ = try await GrantImport(pool: database.pool).enter([
            grant("30", line: 1, revokedAt: Sample.noon), grant("31", original: "30", line: 2),
            grant("41", original: "40", line: 3),
        ])
        for (offset, original) in ["30", "40"].enumerated() {
            let copy = Sample.judged(Sample.purchase("\(original)9", original: original), .nonConsumable)
            let again = try await ledger.record(Sample.decision([copy], offset: Int64(2 + offset)))
            #expect(again.reason == .alreadyGranted)
        }
        await ledger.close()
    }

    @Test("an imported grant makes the player a subscription's owner, even if a second player already has a hold")
    func heldByAnother() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func record(
            _ id: String, _ verdict: JudgedPurchase.Verdict, player: String, offset: Int64
        ) async throws -> RecordedOutcome {
            let judged = Sample.judged(
                Sample.purchase(id, original: "50", product: "pass"), .autoRenewableSubscription, verdict)
            return try await ledger.record(Sample.decision([judged], player: player, offset: offset))
        }
        _ = try await record("51", .hold(.beforeCutover), player: "thief", offset: 1)
        _ = try await GrantImport(pool: database.pool).enter([grant("50")])
        #expect(try await record("52", .grant(payload: nil), player: "thief", offset: 2).reason == .ownedByOtherPlayer)
        _ = try await HoldAdministration(pool: database.pool)
            .reject(HoldFilter(id: "51"), by: "ann", at: Sample.noon)
        #expect(try await record("52", .grant(payload: nil), player: "player-1", offset: 3).granted.count == 1)
        await ledger.close()
    }

    @Test("if a renewal of an imported subscription is held, its refund request is leased as undelivered")
    func heldRenewal() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await GrantImport(pool: database.pool).enter([grant("50")])
        let held = Sample.judged(
            Sample.purchase("55", original: "50", product: "pass"), .autoRenewableSubscription, .hold(.unknownProduct))
        _ = try await ledger.record(Sample.decision([held], offset: 1))
        let request = RefundRequest(
            id: "n-55", transactionID: "55", originalTransactionID: "50", bundleID: Sample.bundle,
            environment: .production, productID: "pass", kind: .autoRenewableSubscription, reason: nil,
            signedAt: WallClock.now)
        try await database.pool.run { session in
            try session.transaction { _ = try RefundRequestWrite.enter([request], at: Sample.noon, in: $0) }
        }
        let leased = try await PostgresRefundRequests(pool: database.pool)
            .leaseDueRequests(limit: 5, waitSeconds: 0, at: Sample.noon)
        #expect(leased.map(\.delivery) == [.undelivered])
        await ledger.close()
    }

    @Test("an import keeps names byte for byte, and reports the lines whose transactions another player has")
    func conflicts() async throws {
        let database = try await LedgerDatabase()
        let importing = GrantImport(pool: database.pool)
        let trap = "tab\tback\\slash\nline\r\\N"
        #expect(try await importing.enter([grant("1", player: trap), grant("2", player: "\\N")]).entered == 2)
        let again = try await importing.enter([
            grant("1", player: "thief", line: 10), grant("2", player: "\\N", line: 11),
            grant("3", player: "first", line: 12), grant("3", player: "second", line: 13),
        ])
        #expect(again == GrantImport.Entered(entered: 1, conflicts: [10, 13]))
        let player = try await database.pool.run {
            try $0.execute(PostgresStatement("SELECT player_id FROM grants ORDER BY transaction_id LIMIT 1")).text(0, 0)
        }
        #expect(player == trap)
    }

    @Test("if an import grants an original, the holds of its copies become due, and end as already granted")
    func holds() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let held = Sample.judged(Sample.purchase("21", original: "20"), .nonConsumable, .hold(.beforeCutover))
        _ = try await ledger.record(Sample.decision([held], offset: 1))
        let holds = PostgresHolds(pool: database.pool)
        // A worker with a newer catalog leases the hold during the import.
        let looking = try #require(try await holds.leaseDue(catalogVersion: 2, limit: 1).first)
        #expect(try await GrantImport(pool: database.pool).enter([grant("20")]).entered == 1)
        try await holds.keepHeld([(hold: looking, reason: .beforeCutover)], catalogVersion: 2)
        let due = try #require(try await holds.leaseDue(catalogVersion: 2, limit: 1).first)
        #expect(due.isDue && !due.isReleased)
        let event = try await holds.settle(
            HoldDecision(
                due, verdict: .each([held]), environment: .production, decidedAt: Sample.noon, catalogVersion: 2))
        #expect(event?.reason == .alreadyGranted)
        #expect(event?.kind == .rejected)
        #expect(try await database.number("SELECT count(*) FROM claims WHERE player_id = 'player-1'") == 1)
        await ledger.close()
    }

    @Test(
        "a refund from before the import revokes its share of the imported grant, unless Apple has reversed the refund")
    func refunded() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO refunds (transaction_id, bundle_id, environment, original_transaction_id, product_id, revoked_at,
                reason, refunded_milli_percent, signed_at)
            SELECT id, '\(Sample.bundle.text)', 'Production', id, 'gold', at, reason, part, now()
            FROM (VALUES ('1', now(), 'refund', 30000), ('2', now(), 'revoke', NULL), ('3', NULL, NULL, 30000))
                AS told (id, at, reason, part)
            """)
        _ = try await GrantImport(pool: database.pool).enter((1...4).map { grant("\($0)", line: $0) })
        func count(_ condition: String) async throws -> Int {
            try await database.number("SELECT count(*) FROM grants WHERE \(condition)")
        }
        #expect(
            try await count(
                """
                transaction_id = '1' AND revoked_units = 1 AND apple_revoked_at = revoked_at
                    AND apple_revocation_reason = 'refund' AND apple_revoked_milli_percent = 30000
                """) == 1)
        #expect(
            try await count(
                """
                transaction_id = '2' AND revoked_units = 2 AND apple_revocation_reason = 'revoke'
                    AND apple_revoked_milli_percent = 100000
                """) == 1)
        #expect(
            try await count(
                "revoked_at IS NULL AND revoked_units IS NULL AND apple_revoked_at IS NULL") == 2)
        // After a partial refund some units remain, so transaction 1 counts as granted.
        let ledger = database.ledger()
        let again = try await ledger.record(Sample.decision([Sample.judged(Sample.purchase("1"))], offset: 1))
        #expect(again.reason == .alreadyGranted)
        await ledger.close()
    }

    @Test("after an import names a subscription's owner, the announced renewals are granted to the owner")
    func renewals() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let subject = AnnouncedSubject(database, ledger)
        var next = try AnnouncedSubject.renewal("7000", original: "7000")
        next.previousOriginalTransactionID = "5000"
        try await subject.enter([
            try AnnouncedSubject.renewal("5001"), next, try AnnouncedSubject.renewal("6001", original: "6000"),
        ])
        try await subject.endPatience()
        let catalog = AnnouncedSubject.catalog(.report)
        #expect(try await subject.deliver(under: catalog) == Array(repeating: "unclaimed not_delivered", count: 3))
        #expect(try await GrantImport(pool: database.pool).enter([grant("5000", player: "player-3")]).entered == 1)
        let events = try await subject.events(under: catalog)
        #expect(events.map(\.kind) == [.granted, .granted] && Set(events.map(\.playerID)) == ["player-3"])
        await ledger.close()
    }

    @Test("if an import and a ledger grant the same transactions concurrently, each transaction is granted once")
    func beside() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger(writers: 2)
        let pool = LedgerDatabase.pool(database.uri, size: 2)
        async let recorded = recordAll(
            (0..<300).map {
                Sample.decision([Sample.judged(Sample.purchase("\($0)"))], player: "player-2", offset: Int64($0))
            }, in: ledger)
        let imported = try await GrantImport(pool: pool).enter((0..<300).map { grant("\($0)", line: $0) })
        let granted = try await recorded.flatMap(\.granted).count
        #expect(granted + imported.entered == 300)
        #expect(imported.conflicts.count == granted)
        #expect(try await database.number("SELECT count(*) FROM grants") == 300)
        await ledger.close()
        await pool.close()
    }
}
