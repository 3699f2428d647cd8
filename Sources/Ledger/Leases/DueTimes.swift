import Postgres
import Synchronization

/// Due times by PostgreSQL's clock, which may have been ahead when they were written.
enum DueTimes {
    /// The seconds ahead beyond which no row is put off, unless an operator sets longer delays.
    static let farthestSeconds = 25.0 * 3600
    /// The most rows that one look makes due.
    private static let mendedAtATime: Int64 = 1_000

    /// Returns the seconds ahead beyond which no correct clock has written a due time.
    /// - Parameter longestDelay: the longest delay of the operator's settings, in seconds.
    static func farthest(longestDelay: Double) -> Double {
        max(farthestSeconds, longestDelay + 3600)
    }

    /// Makes rows due that a clock which was ahead put off: at the first look, and then once a minute, because clocks
    /// are set seldom.
    final class Mending: Sendable {
        private static let pause = Duration.seconds(60)

        private let resetting: PostgresStatement
        private let farthestSeconds: Double
        private let next = Mutex<ContinuousClock.Instant?>(nil)

        /// - Parameters:
        ///   - resetting: the statement. $1 is `farthestSeconds`, and $2 the most rows.
        ///   - farthestSeconds: the seconds ahead beyond which no correct clock has written a due time.
        init(_ resetting: PostgresStatement, farthestSeconds: Double = DueTimes.farthestSeconds) {
            self.resetting = resetting
            self.farthestSeconds = farthestSeconds
        }

        func mendNowAndThen(
            in session: PostgresSession, at instant: ContinuousClock.Instant = .now
        ) throws(PostgresError) {
            guard next.withLock({ $0.map { $0 <= instant } ?? true }) else { return }
            let mended = try session.execute(resetting, [.float8(farthestSeconds), .int8(mendedAtATime)]).affectedRows
            // The database may have more of these rows: the next look mends again.
            if mended < mendedAtATime { next.withLock { $0 = instant + Self.pause } }
        }
    }
}
