import Ledger
import Postgres

/// Runs the statements of one search, and gives all of them together only so much time.
struct InspectionReader {
    let session: PostgresSession
    private let end: ContinuousClock.Instant

    init(session: PostgresSession, seconds: Double) {
        self.session = session
        end = .now + .seconds(seconds)
    }

    /// Throws `Inspection.TooLong` where the time is over before the statement ends.
    func execute(_ statement: PostgresStatement, _ parameters: [PostgresParameter] = []) throws -> PostgresRows {
        let left = ContinuousClock.now.duration(to: end) / .milliseconds(1)
        guard left >= 1 else { throw Inspection.TooLong() }
        try session.run(script: "SET LOCAL statement_timeout = \(Int(left))")
        do throws(PostgresError) {
            return try session.execute(statement, parameters)
        } catch {
            if error.sqlState == Self.queryCanceled { throw Inspection.TooLong() }
            throw error
        }
    }

    private static let queryCanceled = "57014"
}
