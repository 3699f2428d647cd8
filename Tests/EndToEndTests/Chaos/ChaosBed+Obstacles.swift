import EmbeddedPostgres
import Foundation
import Postgres
import TestSupport

@testable import Demo

/// Faults that block the workers without ending a process or a connection.
extension ChaosBed {
    private static let unavailable: Int32 = 69

    /// Freezes the backend process of a worker's session, preferably one in an SQL transaction. The server keeps
    /// running.
    func beginFrozenBackend() async throws -> Cure {
        var backend: Int32?
        try await eventually("a worker has a session") {
            backend = try await bed.query(
                """
                SELECT pid FROM pg_stat_activity
                WHERE application_name = 'receiptd' AND backend_type = 'client backend'
                ORDER BY xact_start IS NULL, random()
                """
            ) { rows in rows.count == 0 ? nil : rows.int4(0, 0).map { Int32($0) } }
            return backend != nil
        }
        guard let backend else { return {} }
        kill(backend, SIGSTOP)
        return { kill(backend, SIGCONT) }
    }

    func beginRightTaken() async throws -> Cure {
        try await database("REVOKE INSERT ON grants FROM \(Self.workersRole)")
        return { [self] in try await database("GRANT INSERT ON grants TO \(Self.workersRole)") }
    }

    /// Reads all tables in one SQL transaction, as a backup does. Meanwhile an operator runs `receiptd migrate`.
    func beginReader(_ step: ChaosSchedule.Step) async throws -> Cure {
        let seconds = step.seconds
        let reading = Task { [self] in
            try await database(
                """
                BEGIN;
                DO $$
                DECLARE name regclass;
                BEGIN
                    FOR name IN SELECT oid FROM pg_class
                        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
                    LOOP EXECUTE format('LOCK TABLE %s IN ACCESS SHARE MODE', name); END LOOP;
                END $$;
                SELECT pg_sleep(\(seconds));
                COMMIT
                """)
        }
        try await eventually("the reader reads") {
            try await bed.query(
                "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%ACCESS SHARE%' AND wait_event = 'PgSleep'"
            ) { $0.int8(0, 0) } == 1
        }
        let migration = Task { [self] in try await command(["migrate"]) }
        return {
            _ = await reading.result
            let ending = try await migration.value
            // If another fault stopped the migration, the message of the migration shows that fault.
            if ending.code != 0 { print("chaos: migrate beside a reader: \(ending.code) \(ending.errors.suffix(200))") }
        }
    }

    /// Starts a worker on the HTTP port of a running worker. The new worker must end, and must not disturb the other
    /// workers.
    func beginPortTaken(_ victim: Worker) async throws -> Cure {
        let port = try await victim.port()
        let second = try startDoomedWorker(["HTTP_PORT": "\(port)"])
        return {
            do {
                let code = try await second.ending(within: .seconds(30))
                if code != Self.unavailable {
                    throw DeadlinePassed(description: "a worker whose port is taken ended with \(code)")
                }
            } catch {
                if second.process.isRunning { try await second.kill() }
                throw error
            }
        }
    }
}
