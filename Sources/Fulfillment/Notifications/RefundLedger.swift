/// The seam to the database for what Apple took back.
public protocol RefundLedger: Sendable {
    /// Makes the notices durable in their order, with the events that they yield, in one SQL transaction. Throws where
    /// the database is out of reach; any may be given again then.
    func apply(_ notices: [ReceivedNotice], catalog: Catalog) async throws -> Durable<[AppliedNotice]>
}

public struct ReceivedNotice: Sendable {
    public let notice: RefundNotice
    /// The record that brought it.
    public let topic: String
    public let partition: Int32
    public let traceparent: String?
    /// When it is decided.
    public let decidedAt: Timestamp

    public init(
        _ notice: RefundNotice, topic: String, partition: Int32, traceparent: String?, decidedAt: Timestamp
    ) {
        self.notice = notice
        self.topic = topic
        self.partition = partition
        self.traceparent = traceparent
        self.decidedAt = decidedAt
    }
}

public enum AppliedNotice: Sendable, Equatable {
    case applied(RefundEffect)
    /// The database refuses its data, and always will.
    case refused
}
