import EmbeddedPostgres
import Foundation

/// The database of a run: a new PostgreSQL server, or a database that later runs use again.
final class BenchDatabase {
    /// Describes the database before the run.
    struct Options {
        /// The URI of a database on this machine that outlives the run; nil for a new server with an empty database.
        var uri: String?
        /// The number of made-up grants, each with its claim.
        var grants = 0
        /// The size of the event of each made-up grant.
        var eventBytes = 600
        /// Whether deploy/postgres/partition.sql partitions the tables.
        var isPartitioned = false
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The beginning of the database's name. A run empties tables, so it refuses a database with another name.
    static let keptName = "receiptd_benchmark"

    let uri: String
    /// The server's process, whose children are the sessions.
    let processID: Int32
    private let embedded: EmbeddedPostgres?
    private let options: Options

    init(_ options: Options) throws {
        self.options = options
        guard let kept = options.uri else {
            let server = try EmbeddedPostgres.start()
            (embedded, uri, processID) = (server, server.uri, server.processID)
            return
        }
        (embedded, uri) = (nil, kept)
        let server = """
            SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1) WHERE starts_with(current_database(), '\(Self.keptName)')
            """
        guard let number = Int32(try Self.run(#"psql --no-psqlrc -At --dbname "$0" --command "$1""#, [kept, server]))
        else {
            throw Failure(description: "a run empties tables: the database's name has to begin with \(Self.keptName)")
        }
        processID = number
    }

    /// Must be called after `receiptd migrate`.
    func prepare() throws {
        if embedded == nil { try psql(Self.clearing) }
        if options.grants > 0, try psql(["SELECT EXISTS (SELECT FROM grants)"]) == "f" { try fill() }
        if options.isPartitioned { try psql([], files: ["deploy/postgres/partition.sql"]) }
        if embedded == nil || options.grants > 0 { try psql(["VACUUM ANALYZE"]) }
    }

    /// Returns the approximate number of ended SQL transactions: sessions report their counts about once a second.
    func transactions() throws -> Int {
        let text = try psql([
            "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
        ])
        guard let number = Int(text) else { throw Failure(description: "PostgreSQL counts no transactions: \(text)") }
        return number
    }

    func stop() {
        embedded?.stop()
    }

    /// Deletes the rows of earlier runs, except the made-up grants and their claims.
    private static let clearing = [
        """
        DO $$
        BEGIN
            EXECUTE (
                SELECT 'TRUNCATE ' || string_agg(quote_ident(tablename), ', ')
                FROM pg_tables
                WHERE schemaname = current_schema() AND tablename !~ '^(grants|claims)(_\\d\\d)?$' AND tablename <> 'schema_version'
            );
        END
        $$
        """,
        """
        WITH gone AS (
            DELETE FROM grants WHERE player_id < 'old-' OR player_id >= 'old.' RETURNING transaction_id
        )
        DELETE FROM claims USING gone WHERE original_transaction_id = transaction_id
        """,
    ]

    /// Inserts the made-up grants, ten of each player. One SQL transaction for each table empties the table and loads
    /// frozen rows. So no VACUUM writes a hundred million rows again.
    private func fill() throws {
        // The ids of a run's own transactions, from 900000000001 on, lie between these ids in the index.
        let step = max(1, 100_000_000 / options.grants)
        let made = """
            (SELECT '9' || lpad((n::bigint * \(step))::text, 15, '0') AS id, 'old-' || n / 10 AS player,
                now() - n % 86400 * interval '1 s' AS at
            FROM generate_series(1, \(options.grants)) AS n) AS made
            """
        try load(
            "claims (original_transaction_id, player_id, bundle_id)",
            from: "SELECT id, player, '\(Traffic.bundleID)' FROM \(made)",
            without: ["ALTER TABLE claims DROP CONSTRAINT claims_pkey"],
            then: "ALTER TABLE claims ADD PRIMARY KEY (original_transaction_id)")
        try load(
            """
            grants (
                transaction_id, original_transaction_id, player_id, bundle_id, product_id, quantity, environment, purchased_at,
                submission_id, granted_at, submission_key, kind, event, catalog_version)
            """,
            from: """
                SELECT id, id, player, '\(Traffic.bundleID)', '\(Traffic.productID)', 1, 'Production', at, 's-' || id, at,
                    gen_random_uuid(), 'consumable', convert_to(repeat('e', \(options.eventBytes)), 'UTF8'), 1
                FROM \(made)
                """,
            without: [
                "ALTER TABLE grants DROP CONSTRAINT grants_pkey",
                "DROP INDEX grants_players, grants_originals, grants_accounts",
            ],
            then: "ALTER TABLE grants ADD PRIMARY KEY (transaction_id)")
        try psql([], files: ["schema.sql"])
    }

    private func load(_ table: String, from query: String, without: [String], then: String) throws {
        let name = table.prefix { $0 != " " }
        let statements =
            ["SET session_replication_role = replica"] + without
            + ["TRUNCATE \(name)", "COPY \(table) FROM STDIN WITH (FREEZE)", then]
        try Self.run(
            """
            set -o pipefail
            psql --no-psqlrc --quiet --dbname "$0" --command "$1" | psql \(Self.quietly) --dbname "$0" "${@:2}"
            """, [uri, "COPY (\(query)) TO STDOUT"] + statements.flatMap { ["--command", $0] })
    }

    private static let quietly = "--no-psqlrc --quiet --single-transaction --set ON_ERROR_STOP=1"

    @discardableResult
    private func psql(_ statements: [String], files: [String] = []) throws -> String {
        try Self.run(
            #"psql --no-psqlrc --quiet -At --set ON_ERROR_STOP=1 --dbname "$0" "$@""#,
            [uri] + statements.flatMap { ["--command", $0] } + files.flatMap { ["--file", $0] })
    }

    @discardableResult
    private static func run(_ script: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", script] + arguments
        process.environment = ["PATH": "/usr/bin:/bin", "PGOPTIONS": "-c client_min_messages=warning"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(description: "psql failed: \(arguments.dropFirst())")
        }
        return String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
