import Foundation
import Postgres
import Testing

@testable import Ledger

@Suite("A database of an earlier version")
struct OlderSchemaTests {
    @Test(
        "a migrated database of any earlier version has the same PostgreSQL catalog as a new database",
        arguments: try OlderSchema.all.get())
    func migrated(schema: OlderSchema) async throws {
        let database = try await LedgerDatabase(schema: schema.name)
        #expect(try await database.pool.run { try Schema.version(in: $0) } == schema.version)
        try await database.pool.run { try Schema.migrate($0) }
        #expect(try await database.pool.run { try Schema.check($0) } == .current)
        let new = try await LedgerDatabase().catalog()
        let others = try await database.catalog().symmetricDifference(new).sorted()
        #expect(others.isEmpty, "\(others.joined(separator: "\n"))")
        #expect(new.count > 800)
    }

    @Test("the tests have a sample schema of each earlier version")
    func kept() throws {
        #expect(Set(try OlderSchema.all.get().map(\.version)) == Set(1..<Schema.currentVersion))
    }

    @Test("if schema.sql runs on a database of version 9, its error names receiptd migrate, and it changes nothing")
    func refused() async throws {
        let database = try await LedgerDatabase(schema: "9")
        let before = try await database.catalog()
        let error = await #expect(throws: PostgresError.self) { try await database.run(Schema.script) }
        #expect(error?.message.contains("receiptd migrate") == true)
        #expect(try await database.pool.run { try Schema.version(in: $0) } == 9)
        #expect(try await database.catalog() == before)
    }

    @Test("each migration file is applied once, in order, and the schema version is the last file's number")
    func order() async throws {
        let database = try await LedgerDatabase()
        let first = Schema.currentVersion + 1
        let files = [
            SchemaMigrationFile(first, "CREATE TABLE steps (number integer); INSERT INTO steps VALUES (0)"),
            SchemaMigrationFile(first + 1, "INSERT INTO steps SELECT max(number) + 1 FROM steps"),
            SchemaMigrationFile(first + 2, "INSERT INTO steps SELECT max(number) * 10 FROM steps"),
        ]
        for count in [2, 2, 3] {
            try await database.pool.run { session in
                try Migration(session, files: Schema.migrations + files.prefix(count), patience: 0) { _ in }.run()
            }
            #expect(try await database.pool.run { try Schema.version(in: $0) } == first + count - 1)
        }
        #expect(try await database.number("SELECT sum(number) + 100 * count(*) FROM steps") == 311)
    }

    @Test("the program contains every file of migrations/, under the version in its name")
    func files() throws {
        let root = LedgerStatement.sources.deletingLastPathComponent()
        let folder = root.appendingPathComponent("migrations")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names.map { Int($0.prefix(3)) } == Schema.migrations.map(\.version))
        for (name, file) in zip(names, Schema.migrations) {
            #expect(
                try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8) == file.script, "\(name)")
        }
    }
}
