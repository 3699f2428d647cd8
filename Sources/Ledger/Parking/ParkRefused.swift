import Fulfillment
import Postgres

/// A submission that the database refuses, made storable: whatever is in it, this row is accepted.
enum ParkRefused {
    /// Unicode scalars of a shown name. The whole of it stands in the submission's bytes.
    static let maximumScalars = 256

    private static let statement = LedgerSQL.statement(PackageResources.park_refused_sql)

    static func run(
        _ submission: Submission, _ position: RecordPosition, proof: Digest256, traceparent: String?,
        for error: PostgresError, in session: PostgresSession
    ) throws -> DatabaseHistory? {
        try session.execute(
            statement,
            [
                .uuid(position.parkedID.stored), .text(shown(position.topic)), .int4(position.partition),
                .int8(position.offset), .timestamptz(unixMicroseconds: position.timestamp.microseconds),
                .uuid(submission.identity(proof: proof).stored), .text(shown(submission.submissionID.text)),
                .text(shown(submission.playerID.text)), .text(shown(submission.bundleID.text)), .bytea(proof.bytes),
                .text(ParkingReason.databaseRefused.rawValue), .text(error.sqlState.map(shown)),
                .text(shown(error.message)), .bytea(position.content.bytes), .text(traceparent.map(shown)),
                .bytea(submission.storedBytes),
            ]
        ).history(0, 0)
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
