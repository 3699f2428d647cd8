import EmbeddedPostgres
import Foundation
import Postgres
import Synchronization
import Testing

/// A test's own database and pool, on one server for the whole process.
struct TestDatabase: Sendable {
    let uri: String
    let pool: PostgresPool

    private static let server = Result { try EmbeddedPostgres.start(durable: false) }
    private static let number = Atomic<Int>(0)

    init(size: Int = 1, preparedStatements: Bool = true) throws {
        let name = "test_\(Self.number.add(1, ordering: .relaxed).newValue)"
        uri = try Self.server.get().createDatabase(name)
        pool = Self.pool(uri, size: size, preparedStatements: preparedStatements)
    }

    static func pool(_ uri: String, size: Int = 1, preparedStatements: Bool = true) -> PostgresPool {
        PostgresPool(
            configuration: PostgresConfiguration(
                uri: uri, applicationName: "tests", preparedStatements: preparedStatements),
            size: size)
    }

    /// Runs the body, and returns the `PostgresError` that the body must throw.
    func failure(
        _ body: @escaping @Sendable (PostgresSession) throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> PostgresError {
        try await TestDatabase.failure(of: pool, body, sourceLocation: sourceLocation)
    }

    static func failure(
        of pool: PostgresPool, _ body: @escaping @Sendable (PostgresSession) throws -> Void,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> PostgresError {
        try #require(
            await #expect(throws: PostgresError.self, sourceLocation: sourceLocation) { try await pool.run(body) },
            sourceLocation: sourceLocation)
    }
}

let processID = PostgresStatement("SELECT pg_backend_pid()")
/// A statement that ends another session, and waits on the server up to 10 s for the end.
let terminate = PostgresStatement("SELECT pg_terminate_backend($1, 10000)")

extension PostgresSession {
    func ownProcessID() throws -> Int64 { try #require(try execute(processID).int4(0, 0)) }
}
