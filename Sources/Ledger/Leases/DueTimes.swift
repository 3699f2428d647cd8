import Postgres
import Synchronization

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

    /// Makes due what a clock that was ahead put off: at the first look, and then once a minute, for clocks are set seldom.
    final class Mending: Sendable {
        private static let pause = Duration.seconds(60)

        private let resetting: PostgresStatement
        private let farthestSeconds: Double
        private let next = Mutex<ContinuousClock.Instant?>(nil)

        /// - Parameters:
        ///   - resetting: $1 is how far off that is, in seconds, $2 how many rows at most.
        ///   - farthestSeconds: ahead of now, beyond which no due time was written by a clock that is right.
        init(_ resetting: PostgresStatement, farthestSeconds: Double = DueTimes.farthestSeconds) {
            self.resetting = resetting
            self.farthestSeconds = farthestSeconds
        }

        func mendNowAndThen(
            in session: PostgresSession, at instant: ContinuousClock.Instant = .now
        ) throws(PostgresError) {
            guard next.withLock({ $0.map { $0 <= instant } ?? true }) else { return }
            let mended = try session.execute(resetting, [.float8(farthestSeconds), .int8(mendedAtATime)]).affectedRows
            // There may be more.
            if mended < mendedAtATime { next.withLock { $0 = instant + Self.pause } }
        }
    }
}
