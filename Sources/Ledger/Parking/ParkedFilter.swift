import Fulfillment
import NamesAndTimes
import Postgres

/// Selects the parked submissions that an operator means. Nil means any.
public struct ParkedFilter: Sendable, Equatable {
    /// The id as it is shown and stored: several players may have chosen the same.
    public var submissionID: String?
    public var bundleID: String?
    public var reason: ParkingReason?
    public var playerID: String?
    /// The latest time of parking.
    public var until: Timestamp?

    public init(submissionID: String? = nil, bundleID: String? = nil, reason: ParkingReason? = nil) {
        self.submissionID = submissionID
        self.bundleID = bundleID
        self.reason = reason
    }

    /// The subject of the entry in `console_changes`.
    public var subject: String { submissionID ?? ConsoleChanges.subject(bundleID: bundleID, reason: reason?.rawValue) }

    var parameters: [PostgresParameter] { [.text(submissionID)] + ofMany }

    /// The parameters without the submission.
    var ofMany: [PostgresParameter] {
        [.text(bundleID), .text(reason?.rawValue), .text(playerID), .timestamptz(until)]
    }
}
