import Fulfillment
import NamesAndTimes
import Postgres

/// Which parked submissions an operator means. Nil means any.
public struct ParkedFilter: Sendable, Equatable {
    /// As it is shown and stored: several players may have chosen the same.
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

    /// As a change of it is entered.
    public var subject: String { submissionID ?? ConsoleChanges.subject(bundleID: bundleID, reason: reason?.rawValue) }

    var parameters: [PostgresParameter] { [.text(submissionID)] + ofMany }

    /// Without the submission.
    var ofMany: [PostgresParameter] {
        [.text(bundleID), .text(reason?.rawValue), .text(playerID), .timestamptz(until)]
    }
}
