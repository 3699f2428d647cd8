import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import Testing

@Suite("A database that is not UTF-8", .timeLimit(.minutes(2)))
struct EncodingTests {
    /// Returns a new empty database with this encoding.
    private func database(_ encoding: String) async throws -> LedgerDatabase {
        let known = try await LedgerDatabase(isMigrated: false)
        let name = "encoded_\(encoding.lowercased())"
        try await known.run(
            "CREATE DATABASE \(name) ENCODING '\(encoding)' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
        let server = known.uri[..<(known.uri.lastIndex(of: "/") ?? known.uri.endIndex)]
        return LedgerDatabase(existing: "\(server)/\(name)")
    }

    @Test(
        "if a database is not UTF-8, the migration's error names the database and its encoding, and no table is made",
        arguments: ["LATIN1", "SQL_ASCII"])
    func refused(encoding: String) async throws {
        let database = try await database(encoding)
        let error = await #expect(throws: UnsuitableDatabase.self) {
            try await database.pool.run { try Schema.migrate($0) }
        }
        let words = try #require(error).description
        #expect(words.contains("\"encoded_\(encoding.lowercased())\" has the encoding \(encoding)"))
        #expect(try await database.number("SELECT count(*) FROM pg_class WHERE relname = 'schema_version'") == 0)
    }

    @Test("if a database's encoding lacks a submission's characters, the submission is parked with escaped characters")
    func parked() async throws {
        let database = try await database("LATIN2")
        try await database.run(Schema.script)
        let ledger = database.ledger()
        let refused = Sample.decision(
            [Sample.judged(Sample.purchase("1000"))], player: "\u{73A9}\u{5BB6}", offset: 1,
            at: Timestamp(milliseconds: -1_000_000_000_000_000))
        #expect(try await ledger.record(refused) == .parked)
        #expect(
            try await database.number(
                #"SELECT count(*) FROM parked WHERE player_id = '\u{73a9}\u{5bb6}' AND sql_state IS NOT NULL"#) == 1)
        await ledger.close()
    }
}
