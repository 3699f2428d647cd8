import EmbeddedPostgres
import Foundation
import Fulfillment
import Ledger
import Postgres
import Testing

@Suite("The database history in PostgreSQL's answers")
struct DatabaseHistoryTests {
    private func parking(_ offset: Int64, failures: Int = 1) -> ParkingSubmission {
        ParkingSubmission(
            submission: Sample.submission("s-\(offset)", player: "player-1"), position: Sample.position(offset),
            proof: Sample.digest("proof \(offset)"), traceparent: nil, reason: .appleTrouble, detail: nil,
            history: WaitingHistory(), dueAfterSeconds: 3_600)
    }

    @Test("each answer of PostgreSQL that completes a record names the database history that the checkpoints use")
    func everywhere() async throws {
        let database = try await LedgerDatabase()
        let here = try await PostgresCheckpoints(pool: database.pool, group: "receiptd").read(
            topic: Sample.topic, partitions: []
        ).history
        let ledger = database.ledger()
        let store = PostgresParking(pool: database.pool)
        let decision = Sample.decision([Sample.judged(Sample.purchase("1000"))], offset: 1)
        #expect(try await ledger.settle(decision).history == here)
        // The ledger decided the submission above, so it now reads its stored answer.
        #expect(try await ledger.settle(decision).history == here)
        let recalled = try await ledger.recollect(Sample.query(for: decision))
        #expect(recalled.history == here && recalled.value != .nothing)
        let refused = Sample.decision([Sample.judged(Sample.purchase("1001", product: "go\u{0}ld"))], offset: 2)
        let parked = try await ledger.settle(refused)
        #expect(parked.history == here && parked.value == .parked)
        #expect(try await store.park(parking(3)).history == here)
        let waiting = try await ledger.recollect(
            RecallQuery(position: Sample.position(3), proof: Sample.digest("proof 3"), mayBeRedelivered: true))
        #expect(waiting.history == here && waiting.value == .parked)
        let unknown = try await ledger.recollect(
            RecallQuery(position: Sample.position(9), proof: Sample.digest("proof 9"), mayBeRedelivered: true))
        #expect(unknown.history == nil && unknown.value == .nothing)
        await store.close()
        await ledger.close()
    }

    @Test("a PostgreSQL session caches the database history, and computes it again after RESET ALL or a rollback")
    func kept() async throws {
        struct Stop: Error {}
        let database = try await LedgerDatabase()
        try await database.pool.run { session in
            func history() throws -> String? {
                try session.execute(PostgresStatement("SELECT database_history()")).text(0, 0)
            }
            func kept() throws -> String? {
                try session.execute(
                    PostgresStatement("SELECT nullif(current_setting('receiptd.database_history', true), '')")
                ).text(0, 0)
            }
            #expect(throws: Stop.self) {
                try session.transaction { _ in
                    _ = try history()
                    throw Stop()
                }
            }
            #expect(try kept() == nil)
            let first = try history()
            #expect(try first != nil && kept() == first && history() == first)
            try session.run(script: "RESET ALL")
            #expect(try kept() == nil)
            #expect(try history() == first && kept() == first)
        }
    }

    /// The pool keeps the session that it opened on the standby. On a standby a session does not keep the history.
    @Test("after a standby is promoted, a session that was opened on the standby reports the new database history")
    func promotion() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("promoted-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let server = try EmbeddedPostgres.start(directory: directory.path)
        defer { server.stop() }
        let before = LedgerDatabase.pool(server.uri, size: 1)
        try await before.run { try Schema.migrate($0) }
        let history = try await PostgresCheckpoints(pool: before, group: "receiptd").read(
            topic: Sample.topic, partitions: []
        ).history
        await before.close()
        server.stopServer()
        try Data().write(to: directory.appendingPathComponent("data/standby.signal"))
        try server.startServer()

        let pool = LedgerDatabase.pool(server.uri + "?target_session_attrs=any", size: 1)
        let session = PostgresStatement("SELECT pg_backend_pid()")
        let standby = try await PostgresCheckpoints(pool: pool, group: "receiptd").read(
            topic: Sample.topic, partitions: []
        ).history
        let processID = try await pool.run { try $0.execute(session).int8(0, 0) }
        let operators = LedgerDatabase.pool(server.uri + "?target_session_attrs=any", size: 1)
        try await operators.run { try $0.run(script: "SELECT pg_promote()") }
        await operators.close()
        let store = PostgresParking(pool: pool)
        let now = try await store.park(parking(1)).history
        #expect(try await pool.run { try $0.execute(session).int8(0, 0) } == processID)
        #expect(now != nil && now != history && now != standby)
        #expect(
            try await PostgresCheckpoints(pool: pool, group: "receiptd").read(topic: Sample.topic, partitions: [])
                .history == now)
        await store.close()
        await pool.close()
    }
}
