import Fulfillment
import NamesAndTimes
import Postgres

/// Parks a submission whose data the database refuses. Changes the row's texts and times so that every database accepts
/// them.
enum InsertRefused {
    /// The form in which the row's columns show the record's texts. The texts may be cut there. The stored submission
    /// has them whole.
    private enum Form {
        /// Identifiers are unchanged, except for control characters.
        case readable
        /// Texts are ASCII: an escape replaces any other character. Times are within the years that every database
        /// accepts.
        case plain

        /// The most Unicode scalars of a shown name. An escaped scalar has up to ten bytes, and an index key may have
        /// at most 2,700.
        var maximumScalars: Int {
            switch self {
            case .readable: 256
            case .plain: 128
            }
        }
    }

    /// The years 0001 to 9999, in milliseconds. PostgreSQL accepts no time before 4713 BC.
    private static let times: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

    private static let statement = LedgerSQL.statement(PackageResources.insert_refused_parked_sql)

    /// Parks the submission for an operator. Returns the history of the database that has the row.
    ///
    /// Call it outside an SQL transaction, because PostgreSQL may refuse the first form too.
    static func run(
        _ submission: Submission, _ position: RecordPosition, proof: Digest256, traceparent: String?,
        for error: PostgresError, in session: PostgresSession
    ) throws -> DatabaseHistory? {
        func run(_ form: Form) throws -> DatabaseHistory? {
            func shown(_ text: String) -> String { Self.shown(text, form) }
            let time = form == .plain ? position.timestamp.within(times) : position.timestamp
            let rows = try session.execute(
                statement,
                [
                    .uuid(position.parkedID.stored), .text(shown(position.topic)), .int4(position.partition),
                    .int8(position.offset), .timestamptz(unixMicroseconds: time.microseconds),
                    .uuid(submission.identity(proof: proof).stored), .text(shown(submission.submissionID.text)),
                    .text(shown(submission.playerID.text)), .text(shown(submission.bundleID.text)),
                    .bytea(proof.bytes), .text(ParkingReason.databaseRefused.rawValue),
                    .text(error.sqlState.map(shown)), .text(shown(error.message)), .bytea(position.content.bytes),
                    .text(traceparent.map(shown)), .bytea(submission.storedBytes),
                    .text(submission.orderID.map(shown)),
                ])
            return rows.history(0, try rows.column("history"))
        }
        do {
            return try run(.readable)
        } catch let refusal as PostgresError where refusal.kind == .data {
            return try run(.plain)
        }
    }

    /// Returns a name that came from outside, in a form for people.
    static func shown(_ text: String) -> String { shown(text, .readable) }

    /// Writes control characters as `\u{…}`, because PostgreSQL's text cannot contain NUL.
    private static func shown(_ text: String, _ form: Form) -> String {
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(form.maximumScalars) {
            if scalar.value < 0x20 || scalar.value == 0x7F || form == .plain && !scalar.isASCII {
                shown.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
            } else {
                shown.append(scalar)
            }
        }
        return String(shown)
    }
}

extension Timestamp {
    fileprivate func within(_ range: ClosedRange<Int64>) -> Timestamp {
        Timestamp(milliseconds: min(max(milliseconds, range.lowerBound), range.upperBound))
    }
}
