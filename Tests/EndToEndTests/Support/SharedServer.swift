import EmbeddedPostgres
import Foundation
import Fulfillment
import Kafka
import Ledger
import Postgres
import ReceiptdConfiguration
import Synchronization

@testable import Demo

/// The PostgreSQL server of all tests that do not stop their server. Each test has its own database.
enum SharedServer {
    private static let template = "with_catalog"
    private static let count = Atomic(0)

    private static let server = Task {
        // PostgreSQL's default of 100 connections is too low for the workers of several tests.
        let server = try await blocking {
            try EmbeddedPostgres.start(durable: false, settings: ["max_connections": "600"])
        }
        try await Seeds.prepare(try await blocking { try server.createDatabase(template) })
        return server
    }

    /// Returns the URI of a new database.
    /// - Parameter isPrepared: true to create it with the schema and the sample catalog.
    static func makeDatabase(isPrepared: Bool) async throws -> String {
        let server = try await server.value
        let name = "test_\(count.add(1, ordering: .relaxed).newValue)"
        return try await blocking { try server.createDatabase(name, template: isPrepared ? template : "template1") }
    }

    /// Replaces `database` by a copy of `source`, as a restore or a fail-over does. Closes all connections to both
    /// databases. PostgreSQL refuses new connections until the copy is complete.
    static func replace(_ database: String, byCopyOf source: String) async throws {
        let server = try await server.value
        try await Seeds.withPool(server.uri) { pool in
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

enum Seeds {
    static let directory = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("seeds")

    /// The folder with the root certificates, and with the keys that sign Apple's answers and notifications.
    static let signing = directory.appendingPathComponent("signing")

    static var catalogFile: URL { directory.appendingPathComponent("catalog.yaml") }

    static func catalog() throws -> String {
        try String(contentsOf: catalogFile, encoding: .utf8)
    }

    static func prepare(_ uri: String) async throws {
        let catalog = try catalog()
        try await withPool(uri) { pool in
            try await pool.run { try Schema.migrate($0) }
            _ = try await CatalogStore(pool: pool).importDocument(
                catalog, granting: try CatalogFile.parse(catalog, version: 0).appsGrantingMissedPurchases)
        }
    }

    static func withPool(_ uri: String, _ body: (PostgresPool) async throws -> Void) async throws {
        let pool = PostgresPool(configuration: PostgresConfiguration(uri: uri, applicationName: "tests"), size: 1)
        do {
            try await body(pool)
            await pool.close()
        } catch {
            await pool.close()
            throw error
        }
    }
}
