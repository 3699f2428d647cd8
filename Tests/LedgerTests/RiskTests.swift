import Encodings
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import TestSupport
import Testing

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

    @Test("risk signals count a device's players of thirty days in all batches, and a player's purchases of one day")
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
        // A partly refunded grant still counts as a purchase.
        try await database.run(
            "UPDATE grants SET quantity = 3, revoked_at = now(), revoked_units = 1 WHERE transaction_id = '3'")
        #expect(try await record(4, "c", nil) == ["small_purchases"])
        let later = Sample.noon.adding(milliseconds: 30 * 86_400_000)
        #expect(try await record(5, "c", "phone", at: later) == [])
        #expect(try await database.number("SELECT count(*) FROM device_sightings") == 4)
        // A replay of the record gets the stored answer, with the first risk signals.
        let first = try await ledger.record(decision(3, player: "c", device: "phone"))
        #expect(risk(first) == ["shared_device"])
        await ledger.close()
    }

    @Test("if batches see a player on a device repeatedly, it takes one row a day, and counts as one player")
    func sightings() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let nextDay = Sample.noon.adding(milliseconds: 86_400_000)
        func isShared(_ id: Int, _ player: String, at time: Timestamp = nextDay) async throws -> Bool {
            risk(try await ledger.record(decision(id, player: player, device: "phone", at: time)))
                .contains("shared_device")
        }
        func rows(of player: String) async throws -> Int {
            try await database.number("SELECT count(*) FROM device_sightings WHERE player_id = '\(player)'")
        }
        for id in 1...2 { #expect(try await !isShared(id, "a", at: Sample.noon)) }
        #expect(try await rows(of: "a") == 1)
        for id in 3...4 { #expect(try await !isShared(id, "a")) }
        #expect(try await rows(of: "a") == 2)
        #expect(try await !isShared(5, "b"))
        // Other apps' players on the same device are not counted.
        try await database.run(
            """
            INSERT INTO device_sightings
            SELECT 'com.example.other', device_id, day, 'other-' || player_id FROM device_sightings
            """)
        #expect(try await !isShared(6, "a"))
        #expect(try await rows(of: "a") == 2)
        #expect(try await isShared(7, "c"))
        await ledger.close()
    }

    @Test("a batch does not wait for an uncommitted sighting of the same player on the same device")
    func atOnce() async throws {
        let database = try await LedgerDatabase()
        let sighting = """
            INSERT INTO device_sightings
            VALUES ('com.example.game', 'phone', '\(Sample.noon.rfc3339.prefix(10))', 'a')
            """
        let other = try await OpenTransaction(database, sighting)
        let ledger = database.ledger()
        _ = try await ledger.record(decision(1, player: "a", device: "phone"))
        try await other.finish()
        #expect(!risk(try await ledger.record(decision(2, player: "b", device: "phone"))).contains("shared_device"))
        #expect(risk(try await ledger.record(decision(3, player: "c", device: "phone"))).contains("shared_device"))
        #expect(try await database.number("SELECT count(*) FROM device_sightings WHERE player_id = 'a'") == 2)
        await ledger.close()
    }

    @Test("for a device id with 50,000 sightings, the risk query reads at most 90 index entries")
    func sharedByAll() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO device_sightings
            SELECT 'com.example.game', 'zero', date '\(Sample.noon.rfc3339.prefix(10))' - n % 30, 'player-' || n
            FROM generate_series(1, 50000) AS n
            """)
        let pool = LedgerDatabase.pool(database.uri, size: 2)
        let ledger = PostgresLedger(pool: pool)
        #expect(risk(try await ledger.record(decision(1, player: "a", device: "zero"))) == ["shared_device"])
        await ledger.close()
        await pool.close()
        func read(_ column: String) -> String {
            "SELECT \(column) FROM pg_stat_user_indexes WHERE indexrelname = 'device_sightings_devices'"
        }
        try await eventually("the scans are counted") { try await database.number(read("idx_scan")) > 0 }
        #expect(try await database.number(read("idx_tup_read")) <= 90)
    }

    @Test("the risk query uses the device index, even with a plan made while the table was analyzed as empty")
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
        // PostgreSQL adds a session's counts to the statistics when the session ends, at the latest.
        await pool.close()
        func scans(_ index: String) -> String {
            "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'device_sightings_\(index)'"
        }
        try await eventually("the scans are counted") { try await database.number(scans("devices")) > 0 }
        let whole = "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = 'device_sightings'"
        #expect(try await database.number(whole) == 0)
    }

    @Test("if a player's purchases over several batches name a third Apple account, the risk signal is many_accounts")
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
