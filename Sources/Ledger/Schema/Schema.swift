import Postgres

/// The database's definition, `schema.sql` at the repository's root, and whether the database has it.
public enum Schema {
    /// The version that `schema.sql` writes.
    public static let currentVersion = 4

    /// `schema.sql`.
    public static var script: String { LedgerSQL.text(PackageResources.schema_sql) }

    public enum State: Sendable, Equatable {
        case current
        /// A later version's schema, which this one can work with.
        case newer(found: Int)
        /// Exit code 69: `receiptd migrate` mends it.
        case missing
        case tooOld(found: Int, needed: Int)
    }

    private static let finding = LedgerSQL.statement(PackageResources.find_schema_sql)
    private static let versionStatement = LedgerSQL.statement(PackageResources.schema_version_sql)

    public static func check(_ session: PostgresSession) throws -> State {
        guard try session.execute(finding).bool(0, 0) ?? false,
            let found = try session.execute(versionStatement).int4(0, 0).map(Int.init)
        else { return .missing }
        if found == currentVersion { return .current }
        return found > currentVersion ? .newer(found: found) : .tooOld(found: found, needed: currentVersion)
    }

    /// Applies the schema in one transaction, and makes the outcomes' first partitions. Any number of times, also by
    /// several replicas at once.
    public static func migrate(_ session: PostgresSession) throws {
        try DatabaseEncoding.require(in: session)
        try session.transaction { session in
            // Waits for another replica's migration, and for an old release's transactions.
            try session.run(script: "SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = '10min'")
            try AdvisoryLock.schema.take(in: session)
            // A newer release's functions are not to be replaced by ours.
            if case .newer = try check(session) { return }
            try session.run(script: script)
        }
        try OutcomePartitions.makeAhead(in: session)
    }
}
