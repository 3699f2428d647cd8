import Foundation
import Postgres
import TestSupport
import Testing

/// `schema.sql` of an earlier version, as `OlderSchemas` keeps it.
struct OlderSchema: Sendable, CustomTestStringConvertible {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("OlderSchemas")

    static let all = Result {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".sql.gz") }.sorted()
            .map { OlderSchema(name: String($0.dropLast(7))) }
    }

    let name: String

    var version: Int { Int(name.prefix(while: \.isNumber)) ?? 0 }
    var testDescription: String { "version \(name)" }

    func script() throws -> String {
        let file = Self.folder.appendingPathComponent("\(name).sql.gz").path
        let ending = try EndedProgram.run(["/usr/bin/env", "gzip", "-dc", file])
        try #require(ending.code == 0)
        return ending.output
    }
}

extension LedgerDatabase {
    /// Creates a database with an earlier version's schema.
    init(schema name: String) async throws {
        try await self.init(isMigrated: false)
        try await run(try OlderSchema(name: name).script())
    }

    /// Returns PostgreSQL's view of the schema, one line for each table, column, constraint, index, trigger, function,
    /// type and comment, without the day partitions of outcomes and without the first versions' parked rows.
    func catalog() async throws -> Set<String> {
        try await pool.run { session in
            let rows = try session.execute(PostgresStatement(Self.describing))
            return Set((0..<rows.count).compactMap { rows.text($0, 0) })
        }
    }

    private static let describing = """
        WITH tables AS (
            SELECT * FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
                AND relname !~ '^outcomes_[0-9]' AND relname <> 'parked_of_old'
        ), functions AS (
            SELECT oid::regprocedure::text AS name, pg_proc.* FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        )
        SELECT concat_ws(' ', 'table', relname, relkind, relpersistence, relreplident, reloptions::text,
            pg_get_partkeydef(oid), pg_get_expr(relpartbound, oid)) FROM tables
        UNION ALL
        SELECT concat_ws(' ', 'column', relname, attname, format_type(atttypid, atttypmod), attcollation::regcollation,
            attnotnull, attidentity, attstorage, pg_get_expr(adbin, adrelid))
        FROM tables JOIN pg_attribute ON attrelid = tables.oid AND attnum > 0 AND NOT attisdropped
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        UNION ALL
        SELECT concat_ws(' ', 'constraint', relname, conname, convalidated, pg_get_constraintdef(pg_constraint.oid))
        FROM tables JOIN pg_constraint ON conrelid = tables.oid
        UNION ALL
        SELECT concat_ws(' ', pg_get_indexdef(indexrelid), indisvalid) FROM tables JOIN pg_index ON indrelid = tables.oid
        UNION ALL
        SELECT concat_ws(' ', tgenabled, pg_get_triggerdef(pg_trigger.oid))
        FROM tables JOIN pg_trigger ON tgrelid = tables.oid AND NOT tgisinternal
        UNION ALL
        SELECT pg_get_functiondef(oid) FROM functions
        UNION ALL
        SELECT concat_ws(' ', 'type', typname, typtype, format_type(typbasetype, typtypmod)) FROM pg_type
        WHERE typnamespace = 'public'::regnamespace AND typtype NOT IN ('b', 'c')
        UNION ALL
        SELECT concat_ws(' ', 'comment', relname, attname, description)
        FROM pg_description JOIN tables ON tables.oid = objoid
        LEFT JOIN pg_attribute ON attrelid = objoid AND attnum = objsubid AND objsubid > 0
        WHERE classoid = 'pg_class'::regclass
        UNION ALL
        SELECT concat_ws(' ', 'comment', name, description) FROM pg_description JOIN functions ON functions.oid = objoid
        WHERE classoid = 'pg_proc'::regclass
        """
}
