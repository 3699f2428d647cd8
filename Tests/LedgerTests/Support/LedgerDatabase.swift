import Dispatch
import EmbeddedPostgres
import Fulfillment
import Ledger
import Postgres
import Synchronization
import TestSupport
import Testing

/// A test's own database, on one server that the whole process shares.
struct LedgerDatabase: Sendable {
    let uri: String
    /// The test's own session.
    let pool: PostgresPool

    static let server = Result {
        try EmbeddedPostgres.start(durable: false, settings: ["max_connections": "1000"])
    }
    private static let number = Atomic<Int>(0)
    private static let emptyTemplate = "template1"
    /// Counts the events in the outbox that a worker may lease immediately.
    static let handedOver = "SELECT count(*) FROM outbox WHERE leased_until = '-infinity'"
    /// A migrated database on the shared server, which tests copy. Hundreds of simultaneous migrations would keep the
    /// server busy for minutes.
    private static let migratedTemplate = Task {
        let template = "ledger_template"
        let session = LedgerDatabase.pool(try await create(template), size: 1)
        try await session.run { try Schema.migrate($0) }
        // PostgreSQL copies no database that has a connection.
        await session.close()
        return template
    }

    /// - Parameter server: nil for the shared server.
    init(server: EmbeddedPostgres? = nil, isMigrated: Bool = true) async throws {
        let name = "ledger_\(Self.number.add(1, ordering: .relaxed).newValue)"
        let isCopied = isMigrated && server == nil
        uri = try await Self.create(
            name, of: isCopied ? Self.migratedTemplate.value : Self.emptyTemplate, on: server)
        pool = Self.pool(uri, size: 1)
        if isMigrated, !isCopied { try await pool.run { try Schema.migrate($0) } }
    }

    /// Creates a database on a thread that may block.
    private static func create(
        _ name: String, of template: String = emptyTemplate, on server: EmbeddedPostgres? = nil
    ) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    with: Result { try (server ?? Self.server.get()).createDatabase(name, template: template) })
            }
        }
    }

    init(existing uri: String) {
        self.uri = uri
        pool = Self.pool(uri, size: 1)
    }

    static func pool(_ uri: String, size: Int = 3) -> PostgresPool {
        let configuration = PostgresConfiguration(
            uri: uri, applicationName: "ledger-tests", preparedSessionSettings: PostgresLedger.sessionSettings,
            // Hundreds of tests begin simultaneously on one server, so connections and answers can be slow.
            connectTimeoutSeconds: 60, answerMarginSeconds: 60)
        return PostgresPool(configuration: configuration, size: size)
    }

    func ledger(
        uri: String? = nil, writers: Int = 1, backlog: Int = 1, observer: LedgerObserver = LedgerObserver()
    ) -> PostgresLedger {
        var limits = PostgresLedger.Limits()
        limits.writers = writers
        limits.backlog = backlog
        return PostgresLedger(pool: Self.pool(uri ?? self.uri, size: writers + 1), limits: limits, observer: observer)
    }

    /// Returns a worker's ledger that waits only seconds for an answer from the server.
    func impatientLedger(hung: @escaping @Sendable (HungSession) -> Void) -> PostgresLedger {
        let configuration = PostgresConfiguration(
            uri: uri, applicationName: "ledger-tests", preparedSessionSettings: PostgresLedger.sessionSettings,
            statementTimeoutSeconds: 1, lockTimeoutSeconds: 1, answerMarginSeconds: 1, commitSeconds: 2)
        return PostgresLedger(pool: PostgresPool(configuration: configuration, size: 4, hung: hung))
    }

    /// Ends all sessions and puts a copy in the place of the database, as an operator who restores a dump does.
    func replaceByCopy() async throws -> LedgerDatabase {
        let name = try await pool.run { session in
            let rows = try session.execute(PostgresStatement("SELECT current_database()::text AS name"))
            return rows.text(0, try rows.column("name"))
        }
        let own = try #require(name)
        let admin = Self.pool(try Self.server.get().uri, size: 1)
        for sql in [
            "DROP DATABASE IF EXISTS \(own)_before", "ALTER DATABASE \(own) WITH ALLOW_CONNECTIONS false",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(own)'",
            "CREATE DATABASE \(own)_copy TEMPLATE \(own)", "ALTER DATABASE \(own) RENAME TO \(own)_before",
            "ALTER DATABASE \(own)_copy RENAME TO \(own)",
        ] {
            try await admin.run { _ = try $0.execute(PostgresStatement(sql)) }
        }
        return LedgerDatabase(existing: uri)
    }

    func number(_ sql: String) async throws -> Int {
        let number = try await pool.run { try $0.execute(PostgresStatement(sql)).int8(0, 0) }
        return Int(try #require(number))
    }

    /// Returns when at least `sessions` sessions wait for a lock.
    func waitForLocks(_ sessions: Int = 1) async throws {
        let count = """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
            """
        try await eventually("\(sessions) wait for a lock") { try await number(count) >= sessions }
    }

    func run(_ script: String) async throws {
        try await pool.run { try $0.run(script: script) }
    }
}
