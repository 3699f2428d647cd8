import Foundation
import Postgres
import Testing

@Suite("The errors of the PostgreSQL client")
struct ErrorTests {
    @Test(
        "a PostgreSQL error's SQLSTATE decides the error's kind, and the kind decides whether the error is retriable",
        arguments: [
            ("08006", PostgresError.Kind.connection), ("57P01", .connection), ("57P03", .connection),
            ("25006", .connection), ("22021", .data), ("23505", .data), ("40001", .retriable), ("40P01", .retriable),
            ("55P03", .retriable), ("57014", .retriable), ("53300", .retriable), ("26000", .retriable),
            ("42P01", .other),
            ("P0001", .other),
        ])
    func kinds(sqlState: String, kind: PostgresError.Kind) {
        let error = PostgresError(sqlState: sqlState, message: "")
        #expect(error.kind == kind)
        #expect(error.isRetriable == (kind != .data && kind != .other))
    }

    @Test(
        "a NUL byte in a text parameter is a data error that does not quote the text; invalid UTF-8 is SQLSTATE 22021")
    func nulByte() async throws {
        let database = try TestDatabase()
        for parameter in [PostgresParameter.text("secret\0tail"), .textArray(["fine", "secret\0tail"])] {
            let error = try await database.failure { try $0.execute(PostgresStatement("SELECT $1"), [parameter]) }
            #expect(error.kind == .data)
            #expect(error.sqlState == "22021")
            #expect(!error.description.contains("secret") && !error.description.contains("0x00"))
        }
        let error = try await database.failure { try $0.execute(PostgresStatement("SELECT $1"), [.textBytes([0xff])]) }
        #expect(error.sqlState == "22021")
    }

    @Test(
        "if a partition refuses a row, the error is retriable; if the table's CHECK refuses the row, it is a data error"
    )
    func partitionConstraint() async throws {
        let database = try TestDatabase()
        for (insert, kind) in [
            ("INSERT INTO first VALUES (2)", PostgresError.Kind.retriable), ("INSERT INTO t VALUES (-1)", .data),
        ] {
            let error = try await database.failure { session in
                try session.run(
                    script: """
                        DROP TABLE IF EXISTS t;
                        CREATE TABLE t (day integer CHECK (day >= 0)) PARTITION BY LIST (day);
                        CREATE TABLE first PARTITION OF t FOR VALUES IN (1);
                        CREATE TABLE rest PARTITION OF t DEFAULT
                        """)
                try session.execute(PostgresStatement(insert))
            }
            #expect(error.sqlState == "23514")
            #expect(error.kind == kind)
        }
    }

    @Test("a unique violation is a data error that names the constraint and no value")
    func uniqueViolation() async throws {
        let database = try TestDatabase()
        let error = try await database.failure { session in
            try session.run(script: "CREATE TABLE t (id text CONSTRAINT only_one UNIQUE)")
            let insert = PostgresStatement("INSERT INTO t VALUES ($1)")
            try session.execute(insert, [.text("topsecret")])
            try session.execute(insert, [.text("topsecret")])
        }
        #expect(error.kind == .data && !error.isRetriable)
        #expect(error.sqlState == "23505")
        #expect(error.constraint == "only_one")
        #expect(!"\(error) \(error.message)".contains("topsecret"))
    }

    @Test(
        "if PostgreSQL cannot convert a parameter's value, the error's text does not contain the value",
        arguments: [
            "SELECT $1::int", "SELECT $1::timestamptz", "SELECT $1::uuid", "SELECT $1::text[]", "SELECT $1::bool",
            "SELECT to_date($1, 'YYYY-MM-DD')", "SELECT $1::numeric", "SELECT $1::jsonb",
        ])
    func noValues(sql: String) async throws {
        let database = try TestDatabase()
        let error = try await database.failure {
            try $0.execute(PostgresStatement(sql), [.text("topsecret: \"topsecret\"")])
        }
        #expect(error.kind == .data)
        #expect(!"\(error)".contains("topsecret"))
        #expect(!error.message.isEmpty)
    }

    @Test("the printed parameter of a PostgreSQL statement shows only its type and size")
    func parameterDescription() {
        #expect("\(PostgresParameter.text("topsecret"))" == "PostgresParameter(type 25, 9 bytes)")
    }

    @Test(
        "if the pool cannot connect with a URI, the connection error contains no password",
        arguments: [
            "postgresql://user:topsecret@127.0.0.1:1/nothing", "postgresql://user:topsecret@localhost.invalid/nothing",
            "host=127.0.0.1 port=1 password=topsecret", "postgresql://us:er:topsecret@127.0.0.1:1/x",
            "postgresql://user:5/topsecret@127.0.0.1:1/x", "postgresql://user:top%secret@127.0.0.1/x",
        ])
    func noPassword(uri: String) async throws {
        let pool = TestDatabase.pool(uri)
        let error = try await TestDatabase.failure(of: pool) { try $0.run(script: "SELECT 1") }
        #expect(error.kind == .connection && error.isRetriable)
        #expect(error.sqlState == nil)
        #expect(!"\(error)".contains("secret"))
        await pool.close()
    }

    @Test("if PostgreSQL refuses the database or the user, the error names server and user, and blames the settings")
    func refusals() async throws {
        let uri = try TestDatabase().uri
        let port = try #require(uri.firstMatch(of: /:(\d+)\//)?.1)
        for (refused, sqlState, words) in [
            (
                "postgresql://postgres:topsecret@127.0.0.1:\(port)/nowhere", "3D000",
                #"database "nowhere" does not exist"#
            ),
            ("postgresql://nobody:topsecret@127.0.0.1:\(port)/postgres", "28000", #"role "nobody" does not exist"#),
        ] {
            let pool = TestDatabase.pool(refused)
            let error = try await TestDatabase.failure(of: pool) { try $0.run(script: "SELECT 1") }
            #expect(error.sqlState == sqlState && error.kind == .connection && error.isWrongSettings)
            #expect(error.message.contains(words) && error.message.contains("(127.0.0.1, port \(port), user "))
            #expect(!"\(error)".contains("topsecret"))
            await pool.close()
        }
        let absent = TestDatabase.pool("postgresql://bob@127.0.0.1:1/shop")
        let error = try await TestDatabase.failure(of: absent) { try $0.run(script: "SELECT 1") }
        #expect(error.message.contains("Connection refused (127.0.0.1, port 1, user bob, database shop)"))
        #expect(!error.isWrongSettings)
        await absent.close()
    }

    @Test(
        "if a PostgreSQL connection string has a fault, the fault's description does not quote the string",
        arguments: [
            "postgresql://user:topsecret%zz@h/d", "postgresql://h/d?topsecret=1", "topsecret", "host='topsecret",
            "postgresql://[topsecret", "postgresql://user:topsecret/x@h:5/d", "  ", "postgresql://h:99999/",
            "postgresql://h/d?sslmode=topsecret",
        ])
    func faults(uri: String) throws {
        let fault = try #require(PostgresConfiguration.faults(in: uri))
        #expect(!fault.contains("secret") && fault.count > 5)
    }

    @Test(
        "the check of PostgreSQL connection strings finds no fault in libpq's two forms, URI and keyword=value",
        arguments: [
            "postgresql://u:p@h1:5432,h2:5433/d?application_name=x&target_session_attrs=any", "host=h port=5 dbname=d",
            "postgres://", "postgresql:///d?host=/run/postgresql", "postgres://h/d?sslmode=", "sslmode=verify-full",
            "postgresql://h1,h2:5432 ",
        ])
    func noFaults(uri: String) {
        #expect(PostgresConfiguration.faults(in: uri) == nil)
    }

    @Test("the printed PostgreSQL configuration does not show the URI's password")
    func configurationDescription() {
        let configuration = PostgresConfiguration(uri: "postgresql://u:topsecret@h/d", applicationName: "a")
        #expect(!"\(configuration)".contains("topsecret") && !String(reflecting: configuration).contains("topsecret"))
    }
}
