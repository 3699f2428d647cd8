import NamesAndTimes

/// Stores the effects of Apple's notifications in the database.
public protocol NoticeLedger: Sendable {
    /// Commits the effects of the notices in their order, with their events, in one SQL transaction. Throws if the
    /// database is out of reach. The caller may then apply the notices again.
    func apply(_ notices: [ReceivedNotice], catalog: Catalog) async throws -> Durable<AppliedNotices>
}

public struct ReceivedNotice: Sendable {
    public let notice: StoreNotice
    public let source: PurchaseSource
    /// The topic of the notice's record. If the notice has no record, the topic is only a value for the outbox.
    public let topic: String
    public let partition: Int32
    public let traceparent: String?
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
    /// The effects, one for each notice in the order of the notices.
    public var effects: [AppliedNotice]
    /// The events about subscriptions and refund requests, for all notices together. The outbox has these events.
    public var events: [OutcomeEvent]

    public init(effects: [AppliedNotice] = [], events: [OutcomeEvent] = []) {
        self.effects = effects
        self.events = events
    }
}

public enum AppliedNotice: Sendable, Equatable {
    case applied(NoticeEffect)
    /// The database refuses the notice's data, and would refuse it again.
    case refused
}

/// The result of a notice.
public struct NoticeEffect: Sendable, Equatable {
    /// The label `result` of `receiptd_notifications_total`, and the column `effect` in the tables of notifications.
    public var name: String
    /// The events in publishing order. The outbox has these events.
    public var events: [OutcomeEvent]

    public init(name: String, events: [OutcomeEvent] = []) {
        self.name = name
        self.events = events
    }

    /// The effect of a notification that the ledger already has, whether from a record or from Apple's notification
    /// history.
    public static let duplicate = NoticeEffect(name: RefundEffect.duplicate.name)

    /// - Parameter refund: the effect of the notice's refund; nil unless the notice is about a refund.
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
