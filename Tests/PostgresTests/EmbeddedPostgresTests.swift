import Foundation
import Postgres
import Testing

@testable import EmbeddedPostgres

@Suite("The embedded PostgreSQL server")
struct EmbeddedPostgresTests {
    @Test("the embedded PostgreSQL server keeps the databases in a given directory, and uses fsync by default")
    func keptDirectory() async throws {
        let directory = "/tmp/embedded-postgres-test-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let first = try EmbeddedPostgres.start(directory: directory, settings: ["max_connections": "7"])
        let uri = try first.createDatabase("kept")
        let pool = TestDatabase.pool(uri)
        let settings = try await pool.run { session in
            try session.run(script: "CREATE TABLE t AS SELECT 1 AS n")
            return try session.execute(
                PostgresStatement("SELECT current_setting('fsync'), current_setting('max_connections')")
            ).text(0, 0)
        }
        #expect(settings == "on")
        await pool.close()
        first.stop()
        first.stop()

        let second = try EmbeddedPostgres.start(directory: directory)
        defer { second.stop() }
        try second.createDatabase("copy", template: "kept")
        let copy = TestDatabase.pool(second.uri(database: "copy"))
        #expect(try await copy.run { try $0.execute(PostgresStatement("SELECT n FROM t")).int4(0, 0) } == 1)
        await copy.close()
    }

    @Test("if a wrong setting prevents the embedded PostgreSQL server's start, the error names the setting")
    func wrongSetting() throws {
        let error = #expect(throws: EmbeddedPostgresError.self) {
            try EmbeddedPostgres.start(settings: ["no_such_setting": "1"])
        }
        #expect(error?.description.contains("no_such_setting") == true)
    }

    @Test("a directory counts as open to PostgreSQL's user only if it exists and all directories above it are open")
    func closedDirectory() throws {
        // The directory is not in TMPDIR, which may be closed itself.
        let directory = URL(fileURLWithPath: "/tmp/embedded-postgres-test-\(UUID().uuidString)")
        let inside = directory.appendingPathComponent("inside")
        try FileManager.default.createDirectory(at: inside, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path)
        #expect(PostgresInstallation.isOpenToAll("/tmp"))
        #expect(PostgresInstallation.isOpenToAll(inside.path + "/"))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory.path)
        #expect(!PostgresInstallation.isOpenToAll(inside.path))
        #expect(!PostgresInstallation.isOpenToAll(directory.path + "-missing"))
    }

    @Test(
        "if the requested port is taken, the embedded PostgreSQL server takes a free port, and keeps it over a restart")
    func portTaken() throws {
        let first = try EmbeddedPostgres.start(durable: false)
        defer { first.stop() }
        let second = try EmbeddedPostgres.start(durable: false, port: first.port)
        defer { second.stop() }
        let port = second.port
        #expect(port != first.port)
        try second.restart()
        #expect(second.port == port)
        try second.createDatabase("there")
    }
}
