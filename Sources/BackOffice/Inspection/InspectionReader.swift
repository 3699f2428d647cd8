import Ledger
import Postgres

/// Runs the statements of one search within one time limit.
final class InspectionReader {
    let session: PostgresSession
    private let end: ContinuousClock.Instant
    /// The time at which the statement time-out was last set.
    private var limitedAt: ContinuousClock.Instant?

    init(session: PostgresSession, seconds: Double) {
        self.session = session
        end = .now + .seconds(seconds)
    }

    /// Runs a statement. Throws `Inspection.TooLong` if the time limit ends first.
    func execute(_ statement: PostgresStatement, _ parameters: [PostgresParameter] = []) throws -> PostgresRows {
        let now = ContinuousClock.now
        let left = now.duration(to: end) / .milliseconds(1)
        guard left >= 1 else { throw Inspection.TooLong() }
        if limitedAt.map({ now - $0 > Self.slack }) ?? true {
            try session.run(script: "SET LOCAL statement_timeout = \(Int(left))")
            limitedAt = now
        }
        do throws(PostgresError) {
            return try session.execute(statement, parameters)
        } catch {
            if error.sqlState == Self.queryCanceled { throw Inspection.TooLong() }
            throw error
        }
    }

    private static let queryCanceled = "57014"
    /// The time by which a search may exceed its limit. Setting the time-out takes two round trips, so it is not set
    /// before each statement.
    private static let slack = Duration.milliseconds(100)
}
