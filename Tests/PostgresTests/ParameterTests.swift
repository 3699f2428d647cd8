import Foundation
import Postgres
import Testing

@Suite("The parameters and rows of PostgreSQL statements")
struct ParameterTests {
    @Test(
        "a parameter of every scalar type comes back from PostgreSQL unchanged, and so does NULL",
        arguments: [true, false])
    func scalars(prepared: Bool) async throws {
        let database = try TestDatabase(preparedStatements: prepared)
        let uuid = try #require(PostgresUUID("0123abcd-4567-89ef-FEDC-ba9876543210"))
        try await database.pool.run { session in
            let statement = PostgresStatement("SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11")
            let rows = try session.execute(
                statement,
                [
                    .text("größer 🐘 'quoted' \\"), .bytea([0, 1, 255]), .int4(-5), .int8(.max), .bool(true),
                    .uuid(uuid),
                    .timestamptz(unixMicroseconds: -1), .date(daysSinceUnixEpoch: 20_000), .float8(-0.1),
                    .jsonb("{\"a\": [1, null]}"), .textBytes(Array("é".utf8)),
                ])
            #expect(rows.count == 1)
            #expect(rows.affectedRows == 1)
            #expect(rows.text(0, 0) == "größer 🐘 'quoted' \\")
            #expect(rows.bytes(0, 1) == [0, 1, 255])
            #expect(rows.int4(0, 2) == -5)
            #expect(rows.int8(0, 3) == .max)
            #expect(rows.bool(0, 4) == true)
            #expect(rows.uuid(0, 5) == uuid)
            #expect(rows.timestampMicroseconds(0, 6) == -1)
            #expect(rows.dateDays(0, 7) == 20_000)
            #expect(rows.float8(0, 8) == -0.1)
            #expect(rows.jsonb(0, 9) == Array("{\"a\": [1, null]}".utf8))
            #expect(rows.text(0, 10) == "é")

            let nulls = try session.execute(
                statement,
                [
                    .text(nil), .bytea(nil), .int4(nil), .int8(nil), .bool(nil), .uuid(nil),
                    .timestamptz(unixMicroseconds: nil), .date(daysSinceUnixEpoch: nil), .float8(nil), .jsonb(nil),
                    .textBytes(nil),
                ])
            #expect((0..<11).allSatisfy { nulls.isNull(0, PostgresColumn(place: $0)) })
            #expect(nulls.text(0, 0) == nil)
            #expect(nulls.uuid(0, 5) == nil)
        }
    }

    @Test("times, dates, UUIDs and empty texts mean the same to PostgreSQL as they did in Swift")
    func meaning() async throws {
        let database = try TestDatabase()
        try await database.pool.run { session in
            try session.run(script: "SET TimeZone = 'UTC'")
            let rows = try session.execute(
                PostgresStatement("SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7 = ''"),
                [
                    .timestamptz(unixMicroseconds: 1_700_000_000_123_456), .timestamptz(unixMicroseconds: .max),
                    .date(daysSinceUnixEpoch: 0), .date(daysSinceUnixEpoch: .min),
                    .uuid(PostgresUUID(high: 1, low: 2)), .timestamptz(unixMicroseconds: 0), .text(""),
                ])
            #expect(rows.text(0, 0) == "2023-11-14 22:13:20.123456+00")
            #expect(rows.text(0, 1) == "infinity")
            #expect(rows.text(0, 2) == "1970-01-01")
            #expect(rows.text(0, 3) == "-infinity")
            #expect(rows.text(0, 4) == "00000000-0000-0001-0000-000000000002")
            #expect(rows.text(0, 5) == "1970-01-01 00:00:00+00")
            #expect(rows.bool(0, 6) == true)
        }
    }

    @Test("an array parameter of every type unnests into its elements in PostgreSQL, NULLs included")
    func arrays() async throws {
        let database = try TestDatabase()
        try await database.pool.run { session in
            let rows = try session.execute(
                PostgresStatement("SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"),
                [
                    .textArray(["a", nil, ""]), .byteaArray([[0], nil, []]), .int4Array([-1, nil, .max]),
                    .int8Array([.min, nil, 1]), .boolArray([true, nil, false]),
                    .uuidArray([PostgresUUID(high: .max, low: 7), nil, PostgresUUID(high: 0, low: 0)]),
                    .timestamptzArray(unixMicroseconds: [1, nil, -1]), .dateArray(daysSinceUnixEpoch: [3, nil, -3]),
                    .float8Array([1.5, nil, -.infinity]),
                    .jsonbArray([Array("1".utf8), nil, Array("{}".utf8)]), .textBytesArray([[0x7a], nil, []]),
                ])
            #expect(rows.count == 3)
            let columns = (0..<11).map(PostgresColumn.init(place:))
            #expect(columns.allSatisfy { rows.isNull(1, $0) && !rows.isNull(0, $0) && !rows.isNull(2, $0) })
            #expect(rows.text(0, 0) == "a" && rows.text(2, 0) == "")
            #expect(rows.bytes(0, 1) == [0] && rows.bytes(2, 1) == [])
            #expect(rows.int4(0, 2) == -1 && rows.int4(2, 2) == Int64(Int32.max))
            #expect(rows.int8(0, 3) == .min && rows.int8(2, 3) == 1)
            #expect(rows.bool(0, 4) == true && rows.bool(2, 4) == false)
            #expect(rows.uuid(0, 5) == PostgresUUID(high: .max, low: 7))
            #expect(rows.timestampMicroseconds(0, 6) == 1 && rows.timestampMicroseconds(2, 6) == -1)
            #expect(rows.dateDays(0, 7) == 3 && rows.dateDays(2, 7) == -3)
            #expect(rows.float8(0, 8) == 1.5 && rows.float8(2, 8) == -.infinity)
            #expect(rows.jsonb(0, 9) == [0x31] && rows.jsonb(2, 9) == [0x7b, 0x7d])
            #expect(rows.text(0, 10) == "z")
        }
    }

    @Test("PostgreSQL sees an empty array parameter as empty, and a text array comes back from PostgreSQL as an array")
    func emptyAndTextArrays() async throws {
        let database = try TestDatabase()
        try await database.pool.run { session in
            let empty: [String] = []
            let rows = try session.execute(
                PostgresStatement(
                    "SELECT $1, $2, cardinality($3), cardinality($4), '{{a},{b}}'::text[], (SELECT count(*) FROM unnest($4))"
                ),
                [
                    .textArray(["ä", nil, "\n", ""]), .textArray(empty), .int8Array([]), .uuidArray([]),
                ])
            #expect(rows.textArray(0, 0) == ["ä", nil, "\n", ""])
            #expect(rows.textArray(0, 1) == [])
            #expect(rows.int4(0, 2) == 0 && rows.int4(0, 3) == 0)
            #expect(rows.textArray(0, 4) == nil, "two dimensions are not ours")
            #expect(rows.int8(0, 5) == 0)
        }
    }

    @Test("an INSERT from unnest stores a batch of rows, and its RETURNING lists only the rows that did not conflict")
    func unnest() async throws {
        let database = try TestDatabase()
        let (first, second) = try await database.pool.run { session in
            try session.run(script: "CREATE TABLE things (id text PRIMARY KEY, size int NOT NULL, at timestamptz)")
            let insert = PostgresStatement(
                """
                INSERT INTO things SELECT * FROM unnest($1, $2, $3) ON CONFLICT (id) DO NOTHING RETURNING id
                """)
            func ids(_ numbers: Range<Int32>) throws -> [String?] {
                let rows = try session.execute(
                    insert,
                    [
                        .textArray(numbers.map { "thing \($0)" }), .int4Array(Array(numbers)),
                        .timestamptzArray(unixMicroseconds: numbers.map(Int64.init)),
                    ])
                #expect(rows.affectedRows == rows.count)
                return (0..<rows.count).map { rows.text($0, 0) }
            }
            return (try ids(0..<500), try ids(499..<501))
        }
        #expect(first.count == 500)
        #expect(second == ["thing 500"])
    }

    @Test("if a result's row or column is absent, or the value has another type, the read of it gives nil")
    func wrongReads() async throws {
        let database = try TestDatabase()
        try await database.pool.run { session in
            let rows = try session.execute(PostgresStatement("SELECT 'abc'::text, 1::int2, '{1,2}'::int8[]"))
            #expect(rows.text(1, 0) == nil && rows.text(0, 3) == nil && rows.text(-1, -1) == nil)
            #expect(rows.int8(0, 0) == nil && rows.uuid(0, 0) == nil && rows.bool(0, 0) == nil)
            #expect(rows.float8(0, 0) == nil && rows.timestampMicroseconds(0, 0) == nil && rows.jsonb(0, 0) == nil)
            #expect(rows.textArray(0, 0) == nil)
            #expect(rows.int4(0, 1) == 1)
        }
    }

    @Test("a PostgreSQL session may execute one statement with parameters of different types")
    func otherTypes() async throws {
        let database = try TestDatabase()
        try await database.pool.run { session in
            let statement = PostgresStatement("SELECT $1::text")
            let texts = try [.int4(1), .bool(true), .int4(2)].map { try session.execute(statement, [$0]).text(0, 0) }
            #expect(texts == ["1", "true", "2"])
        }
    }

    @Test("the name of a prepared statement is the same in every process")
    func statementName() {
        #expect(PostgresStatement("SELECT 1").name == PostgresStatement("SELECT 1").name)
        #expect(PostgresStatement("a").name == "saf63dc4c8601ec8c")
        #expect(PostgresStatement("SELECT 1") != PostgresStatement("SELECT 2"))
    }

    @Test("PostgresUUID reads and writes a UUID as text, and compares the high 64 bits first")
    func uuidText() {
        let text = "0123abcd-4567-89ef-fedc-ba9876543210"
        #expect(PostgresUUID(text)?.description == text)
        #expect(PostgresUUID(text)?.high == 0x0123_abcd_4567_89ef)
        #expect(PostgresUUID("0123abcd-4567-89ef-fedc-ba987654321") == nil)
        #expect(PostgresUUID("0123abcd+4567-89ef-fedc-ba9876543210") == nil)
        #expect(PostgresUUID("0123abcd-4567-89ef-fedc-ba987654321g") == nil)
        #expect(PostgresUUID(high: 1, low: .max) < PostgresUUID(high: 2, low: 0))
        #expect(PostgresUUID(bytes: [1, 2]) == nil)
    }
}
