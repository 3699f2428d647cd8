import Postgres

/// Deletes sightings of devices that no longer count. They have no index of their days, which every sighting would pay for: the
/// table is read, another eighth of it each day, so that a sighting goes within `shares` days of its last.
struct SightingPruning: Sendable {
    static let shares: Int32 = 8
    /// Blocks that one statement reads: 1 MiB, some 9,000 sightings.
    static let blocksAtATime: Int64 = 128
    /// Between two turns, of whichever replica: half a day, so that one falls on each day.
    static let turnSeconds = 43_200.0

    private static let deleting = LedgerSQL.statement(PackageResources.delete_old_sightings_sql)

    let pool: PostgresPool

    /// How many are gone. Each statement is a transaction of its own.
    /// - Parameters:
    ///   - day: since the epoch; what is of that day stays.
    ///   - today: since the epoch; says which share is read.
    func run(before day: Int32, today: Int32) async throws -> Int {
        let ranges = try await pool.run {
            try BlockRange.all(of: "device_sightings", Self.blocksAtATime, in: $0)
        }
        var deleted = 0
        for (number, range) in ranges.enumerated() where Self.isDue(number, of: ranges.count, today: today) {
            deleted += try await pool.run { session in
                try session.execute(
                    Self.deleting, [.date(daysSinceUnixEpoch: day), range.first, range.end]
                ).affectedRows
            }
        }
        return deleted
    }

    /// - Parameter number: of some blocks, below `count`.
    static func isDue(_ number: Int, of count: Int, today: Int32) -> Bool {
        number * Int(shares) / count == Int(today % shares)
    }
}
