import Postgres

/// The database's definition in `schema.sql` at the repository's root, its migrations, and its check.
public enum Schema {
    /// The files of `migrations/`, sorted by number. A released file never changes: the next change gets another file.
    static let migrations = [
        SchemaMigrationFile(11, PackageResources.migration_011_sql),
        SchemaMigrationFile(12, PackageResources.migration_012_sql),
    ]

    /// The version that `schema.sql` writes, which is the last migration's number.
    public static let currentVersion = migrations.last?.version ?? 0

    /// The seconds that `migrate` waits for sessions that have locked the tables.
    public static let patience = 600.0

    /// The text of `schema.sql`.
    public static var script: String { LedgerSQL.text(PackageResources.schema_sql) }

    public enum State: Sendable, Equatable {
        case current
        /// The database has the schema of a later version. This version can work with it.
        case newer(found: Int)
        /// The database has no schema. The exit code is 69, as for `tooOld`. `receiptd migrate` corrects both states.
        case missing
        case tooOld(found: Int, needed: Int)
    }

    private static let finding = PostgresStatement("SELECT to_regclass('schema_version') IS NOT NULL AS is_there")
    private static let reading = PostgresStatement("SELECT version FROM schema_version")

    public static func check(_ session: PostgresSession) throws -> State {
        guard let found = try version(in: session) else { return .missing }
        if found == currentVersion { return .current }
        return found > currentVersion ? .newer(found: found) : .tooOld(found: found, needed: currentVersion)
    }

    /// Returns the number of the last migration that was applied; nil if the database has no schema.
    static func version(in session: PostgresSession) throws -> Int? {
        let tables = try session.execute(finding)
        guard tables.bool(0, try tables.column("is_there")) ?? false else { return nil }
        let versions = try session.execute(reading)
        return versions.int4(0, try versions.column("version")).map(Int.init)
    }

    /// Migrates, and reports no progress.
    public static func migrate(_ session: PostgresSession) throws {
        _ = try migrate(session, tell: { _ in })
    }

    /// Applies the schema if it is missing or old, and creates the first partitions of outcomes. This function may run
    /// often, in several replicas at once, and while workers run. A current schema is not changed.
    ///
    /// After `patience`, throws a `PostgresError` with SQLSTATE 55P03 and the sessions that have locked the tables.
    /// - Parameter tell: called with each line for the operator, on the session's thread.
    /// - Returns: the state before the migration.
    public static func migrate(
        _ session: PostgresSession, patience: Double = Schema.patience, tell: (String) -> Void
    ) throws -> State {
        try DatabaseEncoding.require(in: session)
        let found = try check(session)
        switch found {
        case .newer: return found
        case .current: break
        case .missing, .tooOld:
            try withoutActuallyEscaping(tell) { tell in
                try Migration(session, patience: patience) { tell($0.inWords) }.run()
            }
        }
        try DefaultOutcomes.moveAll(in: session) {
            tell("moved \($0) rows out of the default partition of outcomes")
        }
        try OutcomePartitions.makeMissing(in: session)
        return found
    }
}

extension Migration.News {
    fileprivate var inWords: String {
        switch self {
        case .buildingIndex(let name): "the migration builds the index \(name) while workers go on"
        case .waiting(let holders): "the migration waits for other sessions and blocks no worker: \(holders.inWords)"
        }
    }
}
