import Postgres

/// Deletes old rows of one table, found by an index on their date: many at a time are found, and a few thousand deleted
/// by each statement.
struct Pruning: Sendable {
    static let defaults = Pruning(PackageResources.find_old_defaults_sql, PackageResources.prune_default_sql)
    static let proofs = Pruning(PackageResources.find_old_proofs_sql, PackageResources.prune_proofs_sql)
    static let sightings = Pruning(PackageResources.find_old_sightings_sql, PackageResources.prune_sightings_sql)
    static let replays = Pruning(PackageResources.find_old_replays_sql, PackageResources.prune_replays_sql)

    private let finding: PostgresStatement
    private let deleting: PostgresStatement

    private init(_ finding: [UInt8], _ deleting: [UInt8]) {
        self.finding = LedgerSQL.statement(finding)
        self.deleting = LedgerSQL.statement(deleting)
    }

    /// How many are gone. Each statement is a transaction of its own, and the session is given back between two.
    /// - Parameter day: since the epoch; what is of that day stays.
    func run(before day: Int32, in pool: PostgresPool) async throws -> Int {
        let limit = PostgresParameter.date(daysSinceUnixEpoch: day)
        var pruned = 0
        while true {
            let places = try await pool.run { session in
                let rows = try session.execute(finding, [limit, .int8(Int64(OutcomeRetention.foundAtATime))])
                return (0..<rows.count).compactMap { rows.text($0, 0) }
            }
            var deleted = 0
            var rest = places[...]
            while !rest.isEmpty {
                let some = Array(rest.prefix(OutcomeRetention.prunedAtATime))
                rest = rest.dropFirst(some.count)
                deleted += try await pool.run { try $0.execute(deleting, [limit, .textArray(some)]).affectedRows }
            }
            pruned += deleted
            // None deleted: somebody else did it.
            if places.count < OutcomeRetention.foundAtATime || deleted == 0 { return pruned }
        }
    }
}
