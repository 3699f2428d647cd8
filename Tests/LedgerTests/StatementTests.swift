import Foundation
import Postgres
import Testing

@testable import Ledger

@Suite("The ledger's SQL statements")
struct StatementTests {
    @Test("PostgreSQL accepts every statement, and the results have distinct columns and every column that Swift reads")
    func columns() async throws {
        let database = try await LedgerDatabase()
        let importing = try LedgerStatement.text("create_import_table").replacing("ON COMMIT DROP", with: "")
        try await database.run(importing)
        var returned: [String: Set<String>] = [:]
        for statement in try LedgerStatement.files() + LedgerStatement.inSwift()
        where statement.name != "create_import_table" {
            let columns = try await database.pool.run { try $0.columnNames(of: PostgresStatement(statement.sql)) }
            #expect(Set(columns).count == columns.count, "\(statement.name) returns \(columns)")
            returned[statement.room, default: []].formUnion(columns)
        }
        for pruning in [
            Pruning.defaults, .proofs, .replays, .subscriptionReceipts, .unownedSubscriptions, .finishes,
            .refundRequests,
            .consumptionReports, .trafficMinutes, .trafficHours,
        ] {
            let columns = try await database.pool.run { session in
                try session.columnNames(of: pruning.finding) + session.columnNames(of: pruning.deleting)
            }
            returned["Schema", default: []].formUnion(columns)
        }
        for rows in PollFloor.Rows.all {
            returned["Leases", default: []].formUnion(
                try await database.pool.run { try $0.columnNames(of: rows.statement) })
        }
        for (path, text) in try LedgerStatement.sources(endingWith: ".swift") {
            let room = path.split(separator: "/").first.map(String.init) ?? ""
            for name in text.matches(of: /\.column\("(\w+)"\)/).map({ String($0.output.1) }) {
                #expect(returned[room]?.contains(name) == true, "\(path) reads \(name)")
            }
        }
    }

    @Test("Swift code reads a statement's columns by name, never by position")
    func names() throws {
        let byPlace = /\.\w+\((?:0|row|\$0), ?\d+\)/
        for (path, text) in try LedgerStatement.sources(endingWith: ".swift") {
            for match in text.matches(of: byPlace) { Issue.record("\(path): \(match.output)") }
        }
    }

    @Test("reading a column that a statement does not return throws an error that names the returned columns")
    func wrongName() async throws {
        let database = try await LedgerDatabase()
        let error = await #expect(throws: PostgresError.self) {
            try await database.pool.run { session in
                let rows = try session.execute(PostgresStatement("SELECT 1 AS one, 2 AS two WHERE false"))
                _ = try rows.column("two")
                _ = try rows.column("three")
            }
        }
        #expect(error?.message == #"no column "three" among one, two"#)
        #expect(error?.kind == .other)
    }

    /// The statements that no worker runs, each with the command that runs it. `check` need not rehearse these
    /// statements.
    private static let notRehearsed: [String: String] = [
        "list_traffic_minutes": "receiptd console", "list_traffic_hours": "receiptd console",
        "insert_console_change": "receiptd console", "update_console_change": "receiptd console",
        "list_console_changes": "receiptd console", "list_refunds": "receiptd console",
        "count_refunds": "receiptd console", "list_refund_kinds": "receiptd console",
        "list_kept_dead_letters": "receiptd console",
        "list_unclaimed_kinds": "receiptd console",
        "count_holds": "receiptd holds", "list_holds": "receiptd holds list",
        "list_holds_page": "receiptd holds reject",
        "release_hold": "receiptd holds release", "release_holds_page": "receiptd holds release",
        "retry_unclaimed_purchases": "receiptd unclaimed retry",
        "count_parked": "receiptd parked", "list_parked": "receiptd parked list",
        "find_parked": "receiptd parked retry", "find_parked_by_submission": "receiptd parked retry",
        "retry_parked": "receiptd parked retry", "retry_parked_page": "receiptd parked retry",
        "lease_chosen_parked": "receiptd parked reject",
        "count_unclaimed": "receiptd unclaimed list", "list_unclaimed": "receiptd unclaimed list",
        "inspect_announced": "receiptd inspect", "inspect_claims": "receiptd inspect",
        "inspect_decisions": "receiptd inspect", "find_event_names": "receiptd inspect",
        "find_first_day": "receiptd inspect",
        "find_parked_orders": "receiptd inspect", "find_told_rejections": "receiptd inspect",
        "find_told_grants": "receiptd inspect", "find_told_subscriptions": "receiptd inspect",
        "find_told_refund_requests": "receiptd inspect", "find_told_announced": "receiptd inspect",
        "inspect_events": "receiptd inspect", "inspect_grants": "receiptd inspect",
        "inspect_holds": "receiptd inspect", "inspect_outbox": "receiptd inspect",
        "inspect_outcomes": "receiptd inspect", "inspect_parked": "receiptd inspect",
        "inspect_proofs": "receiptd inspect", "inspect_refund_notices": "receiptd inspect",
        "inspect_refunds": "receiptd inspect", "inspect_refusals": "receiptd inspect",
        "inspect_replays": "receiptd inspect", "inspect_refund_requests": "receiptd inspect",
        "inspect_undelivered": "receiptd inspect", "inspect_local_refusals": "receiptd inspect",
        "inspect_counts": "receiptd inspect",
        "inspect_consumption_reports": "receiptd inspect", "inspect_finishes": "receiptd inspect",
        "create_import_table": "receiptd grants import", "upsert_imported_claims": "receiptd grants import",
        "insert_imported_grants": "receiptd grants import", "find_import_conflicts": "receiptd grants import",
        "find_grant": "receiptd grants revoke", "find_grant_in_force": "receiptd grants reinstate",
        "insert_grant_decision": "receiptd grants revoke",
        "inspect_grant_decisions": "receiptd inspect",
        "count_player_waiting": "receiptd players erase", "list_player_holds": "receiptd players erase",
        "lease_player_parked": "receiptd players erase", "insert_erasure": "receiptd players erase",
        "end_erasure": "receiptd players erase",
        "find_player_outcomes": "receiptd players erase", "find_player_default_outcomes": "receiptd players erase",
        "erase_outcomes": "receiptd players erase", "delete_player_sightings": "receiptd players erase",
        "list_player_grants": "receiptd players erase", "lock_player_grants": "receiptd players erase",
        "erase_grants": "receiptd players erase", "erase_claims": "receiptd players erase",
        "erase_player_rows": "receiptd players erase",
        "find_player_rows": "receiptd players erase", "erase_console_changes": "receiptd players erase",
        "lock_passed_on_announced": "receiptd players erase", "update_announced_evidence": "receiptd players erase",
        "count_granted_units": "receiptd reconcile",
        "insert_catalog": "receiptd catalog import", "find_latest_catalog": "receiptd catalog import",
        "hand_over_outbox": "receiptd parked, holds and grants",
        "find_redriven_dead_letters": "receiptd dead-letters redrive",
        "insert_redriven_dead_letters": "receiptd dead-letters redrive",
        "find_index_states": "receiptd migrate", "find_snapshot_holders": "receiptd migrate",
        "find_schema_rights": "receiptd migrate",
        "inspect_subscriptions": "receiptd inspect", "inspect_subscription_transfers": "receiptd inspect",
        "list_subscriptions": "receiptd subscriptions list",
        "count_listed_subscriptions": "receiptd subscriptions list",
        "lease_chosen_subscription": "receiptd subscriptions check",
        "transfer_subscription": "receiptd subscriptions transfer",
        "count_holds_of_original": "receiptd subscriptions transfer",
        "find_receipt_of_app": "receiptd check",
    ]

    @Test("receiptd check rehearses every SQL statement that a worker may run")
    func rehearsed() throws {
        let rehearsed = Set(LedgerRehearsal.worker.flatMap(\.statements))
        let missing = try LedgerStatement.files().filter { !rehearsed.contains($0.sql) }.map(\.name)
        #expect(Set(missing) == Set(Self.notRehearsed.keys))
    }

    @Test("the rehearsal of a worker's statements reports an insert that a trigger refuses, and leaves no rows")
    func refusedRows() async throws {
        let database = try await LedgerDatabase()
        let tables = ["grants", "holds", "parked"]
        try await database.run(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'no rows for %', TG_TABLE_NAME; END $$
            """)
        for (table, work) in zip(tables, ["grant and hold", "grant and hold", "park"]) {
            try await database.run(
                "CREATE TRIGGER refusing BEFORE INSERT ON \(table) FOR EACH ROW EXECUTE FUNCTION refuse()")
            let faults = try await database.pool.run { try LedgerRehearsal.run(in: $0) }
            #expect(
                faults == [LedgerRehearsal.Fault(work: work, sqlState: "P0001", message: "no rows for \(table)")])
            try await database.run("DROP TRIGGER refusing ON \(table)")
        }
        #expect(try await database.pool.run { try LedgerRehearsal.run(in: $0) } == [])
        for table in tables + ["claims", "outcomes", "outbox", "refunds", "partition_progress"] {
            #expect(try await database.number("SELECT count(*) FROM \(table)") == 0)
        }
    }

    @Test("the rehearsal of a worker's statements finds no fault in a freshly migrated database")
    func sound() async throws {
        let database = try await LedgerDatabase()
        #expect(try await database.pool.run { try LedgerRehearsal.run(in: $0) } == [])
    }
}
