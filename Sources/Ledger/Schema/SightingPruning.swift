import Postgres

/// Deletes sightings of devices that no longer count.
///
/// An index on their days would slow down every sighting. So a worker reads one eighth of the table each day instead. A
/// sighting that no longer counts is deleted within `shares` days, or within twice as many if a turn failed.
struct SightingPruning: Sendable {
    static let shares: Int32 = 8
    /// The blocks that one statement reads: 1 MiB, or about 9,000 sightings.
    static let blocksAtATime: Int64 = 128
    /// The seconds between two turns of the fleet. They are half a day, so that each day has a turn.
    static let turnSeconds = 43_200.0

    private static let deleting = LedgerSQL.statement(PackageResources.delete_old_sightings_sql)

    let pool: PostgresPool

    /// Returns the number of deleted rows. Each statement is an SQL transaction of its own.
    /// - Parameters:
    ///   - day: days since 1970; sightings of this day and later are kept.
    ///   - today: days since 1970, which select the share.
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

    /// Returns the share of a table's blocks to read on a day.
    static func share(of blocks: Int64, today: Int32) -> Range<Int64> {
        let share = Int64(today % shares)
        return blocks * share / Int64(shares)..<blocks * (share + 1) / Int64(shares)
    }
}
