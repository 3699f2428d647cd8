import EmbeddedPostgres
import Foundation
import Kafka
import Postgres
import Synchronization

/// Runs one PostgreSQL for all worlds. Each world gets a copy of its template database, which has the schema and the
/// catalog.
final class Ground: Sendable {
    let server: EmbeddedPostgres
    let program: String
    let directory: URL
    /// The addresses of a real broker; nil if each world starts an in-process broker.
    let bootstrapServers: String?
    private let count = Atomic(0)
    static let template = "histories"

    init(program: String, bootstrapServers: String?) async throws {
        self.program = program
        self.bootstrapServers = bootstrapServers
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("histories-\(getpid())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        server = try await blocking {
            let server = try EmbeddedPostgres.start(
                durable: false, settings: ["max_connections": "800", "shared_buffers": "256MB"])
            try server.createDatabase(Self.template)
            return server
        }
        let uri = server.uri(database: Self.template)
        for terms in CatalogTerms.all {
            try Scenery.catalog(terms).write(to: file(of: terms), atomically: true, encoding: .utf8)
        }
        for arguments in [["migrate"], ["catalog", "import", file(of: []).path]] {
            let ending = try await command(arguments, ["DATABASE_URL": uri, "KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"])
            guard ending.code == 0 else { throw History.Fault(description: "\(arguments): \(ending.text)") }
        }
        try await query(uri, "UPDATE missed_purchase_grants SET since = '2000-01-01' RETURNING 1::int8")
    }

    func file(of terms: CatalogTerms) -> URL { directory.appendingPathComponent(terms.file) }

    func nextNumber() -> Int { count.add(1, ordering: .relaxed).newValue }

    func close() async {
        _ = try? await blocking { [server] in server.stop() }
        try? FileManager.default.removeItem(at: directory)
    }

    struct Ending: Sendable {
        let code: Int32
        let text: String
    }

    func command(_ arguments: [String], _ environment: [String: String]) async throws -> Ending {
        let (program, log) = (program, directory.appendingPathComponent("command-\(nextNumber()).log"))
        let given = Scenery.settings(History()).merging(environment) { $1 }
        return try await blocking {
            var start = ChildProcess.Start([program] + arguments, log: log.path)
            start.environment = given
            start.folder = nil
            start.endsWithUs = true
            let process = try ChildProcess(start)
            let code = process.wait()
            let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
            try? FileManager.default.removeItem(at: log)
            return Ending(code: code, text: text)
        }
    }

    @discardableResult
    func query(_ uri: String, _ sql: String) async throws -> Int64 {
        try await withPool(uri) { pool in try await pool.run { try $0.execute(PostgresStatement(sql)).int8(0, 0) ?? 0 }
        }
    }

    func withPool<Value>(_ uri: String, _ body: (PostgresPool) async throws -> Value) async throws -> Value {
        let pool = PostgresPool(configuration: PostgresConfiguration(uri: uri, applicationName: "histories"), size: 1)
        do {
            let value = try await body(pool)
            await pool.close()
            return value
        } catch {
            await pool.close()
            throw error
        }
    }

    /// Replaces a database by a copy of another database, as a restore does. Ends all sessions of both databases.
    func replace(_ database: String, byCopyOf source: String) async throws {
        try await withPool(server.uri) { pool in
            try await pool.run { session in
                let known = try session.execute(
                    PostgresStatement("SELECT datname FROM pg_database WHERE datname = ANY ($1)"),
                    [.textArray([database, source])])
                for row in 0..<known.count {
                    let name = known.text(row, 0) ?? ""
                    try session.run(script: "ALTER DATABASE \(name) ALLOW_CONNECTIONS false")
                    while try session.execute(
                        PostgresStatement(
                            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = $1"),
                        [.text(name)]
                    ).int8(0, 0) != 0 {}
                }
                try session.run(script: "DROP DATABASE IF EXISTS \(database)")
                try session.run(script: "CREATE DATABASE \(database) TEMPLATE \(source)")
                try session.run(script: "ALTER DATABASE \(source) ALLOW_CONNECTIONS true")
            }
        }
    }
}
