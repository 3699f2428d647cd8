/// A rejection that the worker decided without Apple and without the ledger, with the fields of its event. Workers keep
/// a sample of these rejections.
public struct LocalRefusal: Sendable, Equatable {
    /// The event's UUID.
    public let eventID: String
    public let submissionID: String
    public let playerID: String
    /// The bundle id; nil if the record names none.
    public let bundleID: String?
    public let reason: String
    public let detailCode: String
    public let detail: String
    /// The time of the event in the form of RFC 3339.
    public let occurredAt: String

    public init(
        eventID: String, submissionID: String, playerID: String, bundleID: String?, reason: String,
        detailCode: String, detail: String, occurredAt: String
    ) {
        (self.eventID, self.submissionID, self.playerID) = (eventID, submissionID, playerID)
        (self.bundleID, self.reason) = (bundleID, reason)
        (self.detailCode, self.detail, self.occurredAt) = (detailCode, detail, occurredAt)
    }
}
