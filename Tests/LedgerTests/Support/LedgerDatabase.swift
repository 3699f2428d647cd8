import EmbeddedPostgres
import Fulfillment
import Ledger
import Postgres
import Synchronization
import Testing

/// One server for the whole process, and a database of its own for each test.
struct LedgerDatabase: Sendable {
    let uri: String
    /// The test's own session.
    let pool: PostgresPool

    private static let server = Result {
        try EmbeddedPostgres.start(durable: false, settings: ["max_connections": "500"])
    }
    private static let number = Atomic<Int>(0)

    /// - Parameter server: nil for the shared one.
    init(server: EmbeddedPostgres? = nil, isMigrated: Bool = true) async throws {
        let name = "ledger_\(Self.number.add(1, ordering: .relaxed).newValue)"
        uri = try (server ?? Self.server.get()).createDatabase(name)
        pool = Self.pool(uri, size: 1)
        if isMigrated { try await pool.run { try Schema.migrate($0) } }
    }

    init(existing uri: String) {
        self.uri = uri
        pool = Self.pool(uri, size: 1)
    }

    static func pool(_ uri: String, size: Int = 3) -> PostgresPool {
        let configuration = PostgresConfiguration(
            uri: uri, applicationName: "ledger-tests", preparedSessionSettings: PostgresLedger.sessionSettings)
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

    /// A ledger as a worker has it, but for its patience with a server that gives no answer.
    func impatientLedger(hung: @escaping @Sendable (HungSession) -> Void) -> PostgresLedger {
        let configuration = PostgresConfiguration(
            uri: uri, applicationName: "ledger-tests", preparedSessionSettings: PostgresLedger.sessionSettings,
            statementTimeoutSeconds: 1, lockTimeoutSeconds: 1, answerMarginSeconds: 1, commitSeconds: 2)
        return PostgresLedger(pool: PostgresPool(configuration: configuration, size: 4, hung: hung))
    }

    func number(_ sql: String) async throws -> Int {
        let number = try await pool.run { try $0.execute(PostgresStatement(sql)).int8(0, 0) }
        return Int(try #require(number))
    }

    func run(_ script: String) async throws {
        try await pool.run { try $0.run(script: script) }
    }
}
