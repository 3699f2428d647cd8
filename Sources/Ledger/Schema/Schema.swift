import Postgres

/// The database's definition, `schema.sql` at the repository's root, and whether the database has it.
public enum Schema {
    /// The version that `schema.sql` writes.
    public static let currentVersion = 10

    /// How long `migrate` waits for those who hold the tables. Seconds.
    public static let patience = 600.0

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

    private static let finding = PostgresStatement("SELECT to_regclass('schema_version') IS NOT NULL AS is_there")
    private static let reading = PostgresStatement("SELECT version FROM schema_version")

    public static func check(_ session: PostgresSession) throws -> State {
        let tables = try session.execute(finding)
        guard tables.bool(0, try tables.column("is_there")) ?? false else { return .missing }
        let versions = try session.execute(reading)
        guard let found = versions.int4(0, try versions.column("version")).map(Int.init) else { return .missing }
        if found == currentVersion { return .current }
        return found > currentVersion ? .newer(found: found) : .tooOld(found: found, needed: currentVersion)
    }

    /// The same for those who have nobody to tell.
    public static func migrate(_ session: PostgresSession) throws {
        _ = try migrate(session, tell: { _ in })
    }

    /// Applies the schema where it is missing or old, and makes the outcomes' first partitions. Any number of times, also
    /// by several replicas at once, and while workers decide. A current one is left as it is.
    ///
    /// Throws a `PostgresError` with the SQLSTATE 55P03 and who was in the way where that took longer than `patience`.
    /// - Parameter tell: a line for the operator; called on the session's thread.
    /// - Returns: what was found there.
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
                let migration = Migration(session, script: script, patience: patience) { tell($0.inWords) }
                // Another replica's work is done already, and a newer release's functions are not to be replaced by ours.
                try migration.run { session in
                    switch try check(session) {
                    case .current, .newer: true
                    case .missing, .tooOld: false
                    }
                }
            }
        }
        try DefaultOutcomes.moveAll(in: session) {
            tell("\($0) rows of the default partition of the outcomes are moved")
        }
        try OutcomePartitions.makeMissing(in: session)
        return found
    }
}

extension Migration.News {
    fileprivate var inWords: String {
        switch self {
        case .buildingIndex(let name): "building the index \(name); workers go on meanwhile"
        case .waiting(let holders): "waiting, and holding up nobody: \(holders.inWords)"
        }
    }
}
