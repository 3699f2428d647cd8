import Fulfillment
import Postgres

/// A submission that the database refuses, made storable: whatever is in it, this row is accepted.
enum InsertParked {
    static let reason = "database_refused"
    /// Unicode scalars of a shown name. The whole of it stands in the submission's bytes.
    static let maximumScalars = 256

    private static let statement = LedgerSQL.statement(PackageResources.insert_parked_sql)

    static func run(_ decision: PendingDecision, for error: PostgresError, in session: PostgresSession) throws {
        let position = decision.position
        let submission = decision.submission
        try session.execute(
            statement,
            [
                .uuid(id(decision).stored), .text(shown(position.topic)), .int4(position.partition),
                .int8(position.offset), .timestamptz(unixMicroseconds: position.timestamp.microseconds),
                .uuid(decision.identity.stored), .text(shown(submission.submissionID.text)),
                .text(shown(submission.playerID.text)), .text(shown(submission.bundleID.text)), .text(reason),
                .text(error.sqlState.map(shown)), .text(shown(error.message)),
                .text(decision.traceparent.map(shown)), .bytea(submission.storedBytes),
            ])
    }

    /// The same for the same record of the same submission, so that it is parked once.
    static func id(_ decision: PendingDecision) -> NameBasedUUID {
        NameBasedUUID(
            "parked", decision.identity.description, decision.position.topic, String(decision.position.partition),
            String(decision.position.offset))
    }

    /// Control characters as `\u{…}`: NUL is what PostgreSQL's text cannot hold.
    static func shown(_ text: String) -> String {
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(maximumScalars) {
            if scalar.value < 0x20 || scalar.value == 0x7F {
                shown.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            } else {
                shown.append(scalar)
            }
        }
        return String(shown)
    }
}
