import Postgres

/// Deletes sightings of devices that no longer count.
///
/// An index on their days would slow down every sighting. So a worker reads the table instead, another eighth each day.
/// A sighting goes within `shares` days once it no longer counts, or a round later if a turn failed.
struct SightingPruning: Sendable {
    static let shares: Int32 = 8
    /// Blocks that one statement reads: 1 MiB, some 9,000 sightings.
    static let blocksAtATime: Int64 = 128
    /// The seconds between two turns of the fleet: half a day, so that each day has a turn.
    static let turnSeconds = 43_200.0

    private static let deleting = LedgerSQL.statement(PackageResources.delete_old_sightings_sql)

    let pool: PostgresPool

    /// Returns the number of deleted rows. Each statement is a transaction of its own.
    /// - Parameters:
    ///   - day: the days since the epoch; sightings of this day and later stay.
    ///   - today: the days since the epoch, which choose the share.
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

    /// Returns the share of a table's blocks that is read on a day.
    static func share(of blocks: Int64, today: Int32) -> Range<Int64> {
        let share = Int64(today % shares)
        return blocks * share / Int64(shares)..<blocks * (share + 1) / Int64(shares)
    }
}
