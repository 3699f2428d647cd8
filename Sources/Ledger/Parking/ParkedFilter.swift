import Fulfillment
import Postgres

/// Which parked submissions an operator means. Nil means any.
public struct ParkedFilter: Sendable, Equatable {
    /// As it is shown and stored: several players may have chosen the same.
    public var submissionID: String?
    public var bundleID: String?
    public var reason: ParkingReason?

    public init(submissionID: String? = nil, bundleID: String? = nil, reason: ParkingReason? = nil) {
        self.submissionID = submissionID
        self.bundleID = bundleID
        self.reason = reason
    }

    var parameters: [PostgresParameter] {
        [.text(submissionID), .text(bundleID), .text(reason?.rawValue)]
    }
}
