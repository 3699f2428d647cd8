import Postgres

/// Moves rows out of the outcomes' default partition, one slice in each SQL transaction. Nothing waits for the move,
/// and a later turn moves the rest.
///
/// PostgreSQL reads the whole default partition whenever a day's partition is created. So no partition is created while
/// the default partition is large.
enum DefaultOutcomes {
    /// The most rows that one statement moves.
    static let movedAtATime = 2_000
    /// The most rows that one search finds. Few searches are best, because each also reads the deleted rows, which stay
    /// in the index during a backup.
    static let foundAtATime = 50_000
    /// The most rows that one turn of a worker moves.
    static let movedInALook = 200_000

    private static let finding = LedgerSQL.statement(PackageResources.find_default_outcomes_sql)
    private static let moving = LedgerSQL.statement(PackageResources.move_default_outcomes_sql)

    /// Moves rows, and returns their number. Throws a `PostgresError`; the slices moved until then stay moved.
    /// - Parameter limit: the most rows.
    static func move(in pool: PostgresPool, limit: Int = movedInALook) async throws -> Int {
        var moved = 0
        while moved < limit {
            let most = min(foundAtATime, limit - moved)
            let places = try await pool.run { try find(most, in: $0) }
            let before = moved
            for slice in slices(of: places) { moved += try await pool.run { try move(slice, in: $0) } }
            // If no row moved, another process has moved these rows.
            if places.count < foundAtATime || moved == before { break }
        }
        return moved
    }

    /// Moves all rows, for `migrate`, and then frees their space.
    /// - Parameter tell: called after each slice with the number of rows moved so far.
    static func moveAll(in session: PostgresSession, tell: (Int) -> Void) throws {
        var moved = 0
        while true {
            let places = try find(foundAtATime, in: session)
            let before = moved
            for slice in slices(of: places) {
                moved += try move(slice, in: session)
                tell(moved)
            }
            if places.count < foundAtATime || moved == before { break }
        }
        // VACUUM needs the rights of the table's owner, and skips a locked table.
        if moved > 0 { try session.run(script: "VACUUM (SKIP_LOCKED) outcomes_default") }
    }

    private static func find(_ limit: Int, in session: PostgresSession) throws -> [String] {
        let rows = try session.execute(finding, [.int8(Int64(limit))])
        let place = try rows.column("place")
        return (0..<rows.count).compactMap { rows.text($0, place) }
    }

    private static func slices(of places: [String]) -> [[String]] {
        stride(from: 0, to: places.count, by: movedAtATime).map { Array(places[$0...].prefix(movedAtATime)) }
    }

    private static func move(_ places: [String], in session: PostgresSession) throws -> Int {
        let rows = try session.execute(moving, [.textArray(places)])
        return Int(rows.int8(0, try rows.column("moved")) ?? 0)
    }
}
