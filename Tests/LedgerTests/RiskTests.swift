import Encodings
import Fulfillment
import Identifiers
import Ledger
import Postgres
import TestSupport
import Testing
import Timestamps

@Suite("Risk signals in PostgreSQL")
struct RiskTests {
    private func decision(
        _ id: Int, player: String, device: String?, at time: Timestamp = Sample.noon, account: String? = nil
    ) -> PendingDecision {
        var risk = RiskThresholds()
        risk.sharedDevicePlayers = 3
        risk.smallPurchasesPerDay = 2
        risk.manyAccounts = 3
        var purchase = Sample.purchase("\(id)", at: time)
        purchase.appTransactionID = account.map { Identifier($0) }
        let submission = Submission(
            submissionID: Identifier("s-\(id)"), playerID: Identifier(player), bundleID: Sample.bundle,
            proof: .receipt("MIIB"), deviceID: device.map { Identifier($0) })
        return PendingDecision(
            submission: submission, position: Sample.position(Int64(id)), proof: Sample.digest("\(id)"),
            verdict: .each([Sample.judged(purchase)]), environment: .production, evidence: nil,
            decidedAt: time, catalogVersion: 1, traceparent: nil, risk: risk)
    }

    private func risk(_ outcome: RecordedOutcome) -> [String] {
        guard let value = outcome.events.first?.value, let json = try? JSONParser.parse(value).value else {
            return ["none"]
        }
        return (json["risk"]?.array ?? []).compactMap(\.string)
    }

    @Test("devices are remembered over batches and for thirty days, purchases of a day are counted from grants")
    func remembered() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func record(_ id: Int, _ player: String, _ device: String?, at time: Timestamp = Sample.noon) async throws
            -> [String]
        {
            risk(try await ledger.record(decision(id, player: player, device: device, at: time)))
        }
        #expect(try await record(1, "a", "phone") == [])
        #expect(try await record(2, "b", "phone") == [])
        #expect(try await record(3, "c", "phone") == ["shared_device"])
        // A part of it that is taken back leaves a purchase.
        try await database.run(
            "UPDATE grants SET quantity = 3, revoked_at = now(), revoked_units = 1 WHERE transaction_id = '3'")
        #expect(try await record(4, "c", nil) == ["small_purchases"])
        let later = Sample.noon.adding(milliseconds: 30 * 86_400_000)
        #expect(try await record(5, "c", "phone", at: later) == [])
        #expect(try await database.number("SELECT count(*) FROM device_sightings") == 4)
        // The same record again gets its first bytes.
        let first = try await ledger.record(decision(3, player: "c", device: "phone"))
        #expect(risk(first) == ["shared_device"])
        try await database.run(
            "UPDATE device_sightings SET day = (now() AT TIME ZONE 'UTC')::date - 30 WHERE player_id = 'a'")
        let report = try await OutcomeRetention.look(in: database.pool, days: 400)
        #expect(report.pruned.sightings >= 1)
        #expect(try await database.number("SELECT count(*) FROM device_sightings WHERE player_id = 'a'") == 0)
        await ledger.close()
    }

    @Test("a device is found by its own index, also by a plan that was made while statistics call the table empty")
    func plannedWhileEmpty() async throws {
        let database = try await LedgerDatabase()
        try await database.run("ALTER TABLE device_sightings SET (autovacuum_enabled = false)")
        try await database.run("VACUUM (ANALYZE) device_sightings")
        let pool = PostgresPool(
            configuration: PostgresConfiguration(
                uri: database.uri, applicationName: "risk", preparedSessionSettings: PostgresLedger.sessionSettings),
            size: 2)
        let ledger = PostgresLedger(pool: pool)
        for id in 1...3 { _ = try await ledger.record(decision(id, player: "p-\(id)", device: "device-\(id)")) }
        await ledger.close()
        // A session's counts are in once it has ended.
        await pool.close()
        func scans(_ index: String) -> String {
            "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'device_sightings_\(index)'"
        }
        try await eventually("the scans are counted") { try await database.number(scans("pkey")) > 0 }
        #expect(try await database.number(scans("days")) == 0)
    }

    @Test("the Apple accounts that bought for a player are remembered with the grants, over batches")
    func accounts() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        func record(_ id: Int, _ account: String?, player: String = "a") async throws -> [String] {
            let time = Sample.noon.adding(milliseconds: Int64(id) * 86_400_000)
            return risk(
                try await ledger.record(decision(id, player: player, device: nil, at: time, account: account)))
        }
        #expect(try await record(1, "x") == [])
        #expect(try await record(2, "x") == [])
        #expect(try await record(3, "y") == [])
        #expect(try await record(4, nil) == [])
        #expect(try await record(5, "z", player: "b") == [])
        #expect(try await record(6, "z") == ["many_accounts"])
        #expect(try await record(7, nil) == ["many_accounts"])
        #expect(
            try await database.number("SELECT count(DISTINCT app_transaction_id) FROM grants WHERE player_id = 'a'")
                == 3)
        let most = "SELECT cardinality(accounts) FROM accounts_of_players(ARRAY['com.example.game'], ARRAY['a'], 2)"
        #expect(try await database.number(most) == 2)
        await ledger.close()
    }
}
