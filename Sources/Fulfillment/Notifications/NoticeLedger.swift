import NamesAndTimes

/// The seam to the database for Apple's notifications.
public protocol NoticeLedger: Sendable {
    /// Makes the notices durable in their order, with the events that they yield, in one SQL transaction. Throws where
    /// the database is out of reach; any may be given again then.
    func apply(_ notices: [ReceivedNotice], catalog: Catalog) async throws -> Durable<AppliedNotices>
}

public struct ReceivedNotice: Sendable {
    public let notice: StoreNotice
    public let source: PurchaseSource
    /// The topic of the record that brought it. For the outbox only, where it came in another way.
    public let topic: String
    public let partition: Int32
    public let traceparent: String?
    /// The time of the decision.
    public let decidedAt: Timestamp

    public init(
        _ notice: StoreNotice, source: PurchaseSource = .notification, topic: String, partition: Int32,
        traceparent: String?, decidedAt: Timestamp
    ) {
        self.notice = notice
        self.source = source
        self.topic = topic
        self.partition = partition
        self.traceparent = traceparent
        self.decidedAt = decidedAt
    }
}

public struct AppliedNotices: Sendable, Equatable {
    /// One for each notice.
    public var effects: [AppliedNotice]
    /// The events about subscriptions and requests, of all notices. Durable: the outbox has them.
    public var events: [OutcomeEvent]

    public init(effects: [AppliedNotice] = [], events: [OutcomeEvent] = []) {
        self.effects = effects
        self.events = events
    }
}

public enum AppliedNotice: Sendable, Equatable {
    case applied(NoticeEffect)
    /// The database refuses its data, and always will.
    case refused
}

/// The result of a notice.
public struct NoticeEffect: Sendable, Equatable {
    /// The name for people: the metric's and the table's.
    public var name: String
    /// The events in publishing order. Durable: the outbox has them.
    public var events: [OutcomeEvent]

    public init(name: String, events: [OutcomeEvent] = []) {
        self.name = name
        self.events = events
    }

    /// Taken before, whichever way.
    public static let duplicate = NoticeEffect(name: RefundEffect.duplicate.name)

    /// - Parameter refund: what it did to a grant, where it is about a refund.
    public init(of notice: StoreNotice, refund: RefundEffect?) {
        var events: [OutcomeEvent] = []
        if case .published(let event) = refund { events = [event] }
        let isRefund = notice.refund?.id != nil
        let name =
            switch notice {
            case _ where isRefund: refund?.name ?? "unconcerned"
            case _ where notice.request != nil: "refund_request"
            case _ where notice.purchase != nil: "announced"
            case _ where notice.fact != nil: "subscription"
            default: refund.map(\.name) ?? "unconcerned"
            }
        self.init(name: name, events: events)
    }
}
