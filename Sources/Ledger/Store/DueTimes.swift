import Postgres

/// Due times by PostgreSQL's clock, which may have been ahead when they were written.
enum DueTimes {
    /// Nothing is put off for longer, unless an operator sets longer delays. Seconds.
    static let farthestSeconds = 25.0 * 3600
    /// Rows that are made due in one look.
    private static let mendedAtATime: Int64 = 1_000

    /// Seconds ahead beyond which no due time was written by a clock that is right.
    /// - Parameter longestDelay: of the operator's settings.
    static func farthest(longestDelay: Double) -> Double {
        max(farthestSeconds, longestDelay + 3600)
    }

    /// Makes due what a clock that was ahead put off. $1 of the statement is how far off that is, $2 how many rows at most.
    static func mend(
        _ resetting: PostgresStatement, farthestSeconds: Double = farthestSeconds, in session: PostgresSession
    ) throws(PostgresError) {
        try session.execute(resetting, [.float8(farthestSeconds), .int8(mendedAtATime)])
    }
}
