/// A rejection that a worker decided without asking anyone, as its event tells it. A sample of them is kept.
public struct LocalRefusal: Sendable, Equatable {
    /// A UUID.
    public let eventID: String
    public let submissionID: String
    public let playerID: String
    /// Nil where the record names none.
    public let bundleID: String?
    public let reason: String
    public let detailCode: String
    public let detail: String
    /// The time of the event, by RFC 3339.
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
