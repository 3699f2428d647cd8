import Foundation
import Postgres

/// Migrates a database to this program's schema while workers run. Long steps run beside the workers. A step with
/// exclusive locks waits for each lock at most 200 ms, and at every fifth try at most 1.5 s.
///
/// A session that waits for an exclusive lock blocks all later sessions. So the migration does not request such a lock
/// while an old SQL transaction is in the way. It gives up each wait after a moment, and tries again later.
struct Migration {
    /// A message of the migration to the operator.
    enum News: Sendable, Equatable {
        case buildingIndex(String)
        /// The migration blocks no session, and continues when these sessions have ended.
        case waiting([LockHolder])
    }

    /// A worker's batch ends within this many seconds, so an older SQL transaction is no batch.
    static let oldTransaction = 1.0
    /// The longest wait for a lock, during which writers queue.
    static let lockTimeout = "200ms"
    /// The longest wait of every fifth try. It is longer, because PostgreSQL cancels an autovacuum that blocks a
    /// session, but only after `deadlock_timeout`, which is one second by default.
    static let lockTimeoutAgainstAutovacuum = "1500ms"
    /// One try of this many has the longer wait.
    static let triesPerLongOne = 5
    /// The pause between two tries, in seconds.
    static let pauseSeconds = 1.0
    /// The size in bytes above which a table's new indexes are built beside the writers, before the SQL transaction.
    static let largeTable: Int64 = 8 << 20

    private static let findingIndexes = LedgerSQL.statement(PackageResources.find_index_states_sql)
    private static let remembering = PostgresStatement("UPDATE schema_version SET version = $1, applied_at = now()")

    let session: PostgresSession
    /// The files, sorted by version, oldest first.
    let files: [SchemaMigrationFile]
    /// The seconds to wait for sessions in the way.
    let patience: Double
    let tell: (News) -> Void

    private let definition: SchemaScript

    init(
        _ session: PostgresSession, files: [SchemaMigrationFile] = Schema.migrations, patience: Double,
        tell: @escaping (News) -> Void
    ) {
        self.session = session
        self.files = files
        self.patience = patience
        self.tell = tell
        definition = SchemaScript(Schema.script)
    }

    /// Migrates. The tables are not changed if another replica has already migrated them, or a later release has.
    func run() throws {
        try buildIndexes()
        var tries = 0
        let holders = { seconds in try LockHolder.find(definition.tables, olderThan: seconds, in: session) }
        try waitingForOthers(holders, else: "the tables could not be locked") {
            tries += 1
            try apply(isPatient: tries.isMultiple(of: Self.triesPerLongOne))
        }
    }

    /// Runs `body` when no session is in the way. If `body` still does not get a lock, runs it again.
    ///
    /// After `patience`, throws a `PostgresError` with the SQLSTATE 55P03, which names the sessions in the way.
    /// - Parameter find: returns the sessions in the way whose SQL transactions are at least this many seconds old.
    private func waitingForOthers(
        _ find: (Double) throws -> [LockHolder], else failure: String, _ body: () throws -> Void
    ) throws {
        let start = ContinuousClock.now
        while true {
            var holders = try find(Self.oldTransaction)
            if holders.isEmpty {
                do {
                    return try body()
                } catch let error as PostgresError where error.isLockTrouble {
                    holders = try find(0)
                }
            }
            guard (ContinuousClock.now - start).inSeconds < patience else {
                throw PostgresError(sqlState: "55P03", message: "\(failure): \(holders.inWords)", kind: .retriable)
            }
            tell(.waiting(holders))
            Thread.sleep(forTimeInterval: Self.pauseSeconds)
        }
    }

    /// Applies the migrations in one SQL transaction, so that a killed migration changes nothing.
    private func apply(isPatient: Bool) throws {
        try session.transaction { session in
            // This statement waits for another replica's migration, and blocks no session meanwhile.
            try session.run(script: "SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = '10min'")
            try AdvisoryLock.schema.take(in: session)
            let found = try Schema.version(in: session)
            let missing = missing(found)
            if missing.isEmpty { return }
            let timeout = isPatient ? Self.lockTimeoutAgainstAutovacuum : Self.lockTimeout
            try session.run(script: "SET LOCAL lock_timeout = '\(timeout)'; \(locking)")
            if found != nil {
                for file in missing {
                    try session.run(script: file.script)
                    _ = try session.execute(Self.remembering, [.int4(Int32(file.version))])
                }
            }
            try session.run(script: Schema.script)
        }
    }

    private func missing(_ found: Int?) -> [SchemaMigrationFile] {
        files.filter { $0.version > found ?? 0 }
    }

    /// The statement that locks all tables before any is changed. A batch locks claims first, and so does this
    /// statement: then running batches end, and new batches wait before they have any lock.
    private var locking: String {
        let names = (["claims"] + definition.tables.filter { $0 != "claims" }).joined(separator: ",")
        return """
            DO $$
            DECLARE
                name text;
            BEGIN
                FOREACH name IN ARRAY '{\(names)}'::text[] LOOP
                    IF to_regclass(name) IS NOT NULL THEN
                        EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', name);
                    END IF;
                END LOOP;
            END
            $$
            """
    }

    /// Builds new indexes of large tables, so that the scripts find them. An interrupted build leaves an invalid index,
    /// which is dropped and built again.
    private func buildIndexes() throws {
        let indexes =
            try definition.indexes + missing(Schema.version(in: session)).flatMap { SchemaScript($0.script).indexes }
        let rows = try session.execute(
            Self.findingIndexes,
            [
                .textArray(indexes.map(\.name)), .textArray(indexes.map(\.table)), .int8(Self.largeTable),
            ])
        let (large, valid) = (try rows.column("is_large"), try rows.column("is_valid"))
        for (row, index) in indexes.enumerated() {
            let isValid = rows.bool(row, valid)
            guard rows.bool(row, large) == true || isValid == false, isValid != true else { continue }
            tell(.buildingIndex(index.name))
            // A failed try leaves an invalid index, which the next try drops first.
            var isThere = isValid == false
            let holders = { seconds in try LockHolder.findSnapshots(olderThan: seconds, in: session) }
            try waitingForOthers(holders, else: "the index \(index.name) could not be built") {
                try whileOthersWrite {
                    if isThere { try session.run(script: "DROP INDEX CONCURRENTLY IF EXISTS \(index.name)") }
                    isThere = true
                    do {
                        try session.run(script: index.concurrently)
                    } catch let error as PostgresError where error.sqlState == "42703" {
                        // A column of the index does not exist yet. The migration's script adds it, and then the index.
                    }
                }
            }
        }
    }

    /// Runs `body` without a statement time-out, because building an index takes long and blocks no session. The build
    /// waits for each SQL transaction that started before it, such as a backup's, for at most `patience`.
    private func whileOthersWrite(_ body: () throws -> Void) throws {
        func setting(_ name: String) throws -> String {
            let rows = try session.execute(PostgresStatement("SELECT current_setting($1) AS value"), [.text(name)])
            return rows.text(0, try rows.column("value")) ?? "0"
        }
        let before = (try setting("statement_timeout"), try setting("lock_timeout"))
        let milliseconds = Int(max(patience, Self.pauseSeconds) * 1000)
        try session.run(script: "SET statement_timeout = 0; SET lock_timeout = \(milliseconds)")
        defer {
            try? session.run(script: "SET statement_timeout = '\(before.0)'; SET lock_timeout = '\(before.1)'")
        }
        try body()
    }
}
