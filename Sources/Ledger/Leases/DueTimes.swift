import Postgres
import Synchronization

/// Corrects due times that were written while PostgreSQL's clock was ahead.
enum DueTimes {
    /// The latest due time that a writer sets, in seconds from now, unless the settings have longer delays.
    static let farthestSeconds = 25.0 * 3600
    /// The most rows that one statement corrects.
    private static let mendedAtATime: Int64 = 1_000

    /// Returns the farthest due time, in seconds from now, that a correct clock can have written.
    /// - Parameter longestDelay: the longest delay in the operator's settings, in seconds.
    static func farthest(longestDelay: Double) -> Double {
        max(farthestSeconds, longestDelay + 3600)
    }

    /// Makes rows due now if a clock that was ahead wrote their due time. Acts at the first call, and then at most once
    /// a minute, because clocks are rarely set.
    final class Mending: Sendable {
        private static let pause = Duration.seconds(60)

        private let resetting: PostgresStatement
        private let farthestSeconds: Double
        private let next = Mutex<ContinuousClock.Instant?>(nil)

        /// - Parameters:
        ///   - resetting: the statement. Its $1 is `farthestSeconds`, and $2 the most rows.
        ///   - farthestSeconds: the farthest due time that a correct clock can have written, in seconds from now.
        init(_ resetting: PostgresStatement, farthestSeconds: Double = DueTimes.farthestSeconds) {
            self.resetting = resetting
            self.farthestSeconds = farthestSeconds
        }

        func mendNowAndThen(
            in session: PostgresSession, at instant: ContinuousClock.Instant = .now
        ) throws(PostgresError) {
            guard next.withLock({ $0.map { $0 <= instant } ?? true }) else { return }
            let mended = try session.execute(resetting, [.float8(farthestSeconds), .int8(mendedAtATime)]).affectedRows
            // The database may have more such rows, so the next call runs again.
            if mended < mendedAtATime { next.withLock { $0 = instant + Self.pause } }
        }
    }
}
