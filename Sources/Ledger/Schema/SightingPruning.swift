import Postgres

/// Deletes sightings of devices that no longer count. They have no index of their days, which every sighting would pay for: the
/// table is read, another eighth of it each day, so that a sighting goes within `shares` days
/// once it no longer counts, or a round later where a turn failed.
struct SightingPruning: Sendable {
    static let shares: Int32 = 8
    /// Blocks that one statement reads: 1 MiB, some 9,000 sightings.
    static let blocksAtATime: Int64 = 128
    /// The seconds between two turns, of whichever replica: half a day, so that one falls on each day.
    static let turnSeconds = 43_200.0

    private static let deleting = LedgerSQL.statement(PackageResources.delete_old_sightings_sql)

    let pool: PostgresPool

    /// Returns the number of deleted rows. Each statement is a transaction of its own.
    /// - Parameters:
    ///   - day: since the epoch; what is of that day stays.
    ///   - today: since the epoch; says which share is read.
    func run(before day: Int32, today: Int32) async throws -> Int {
        let blocks = try await pool.run { try BlockRange.count(of: "device_sightings", in: $0) }
        var deleted = 0
        for range in BlockRange.each(of: Self.share(of: blocks, today: today), Self.blocksAtATime) {
            deleted += try await pool.run { session in
                try session.execute(
                    Self.deleting, [.date(daysSinceUnixEpoch: day), range.first, range.end]
                ).affectedRows
            }
        }
        return deleted
    }

    /// Returns the blocks of so many that are read on a day.
    static func share(of blocks: Int64, today: Int32) -> Range<Int64> {
        let share = Int64(today % shares)
        return blocks * share / Int64(shares)..<blocks * (share + 1) / Int64(shares)
    }
}
