import NamesAndTimes

/// The App Store Server API, for everything but the proof of a submission. Each call is one try and never throws: an
/// outage is a value. Signed parts of an answer are proven before they are returned.
public protocol StoreQueries: Sendable {
    /// Get Transaction Info.
    func transaction(
        _ id: StoreTransactionID, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<NotifiedTransaction>

    /// Get All Subscription Statuses, of the customer that the transaction is of.
    func subscriptionStatuses(
        of id: StoreTransactionID, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<[SubscriptionStatus]>

    /// Get Transaction History, version 2.
    /// - Parameter page: the `revision` of the page before; nil for the first.
    func transactionHistory(
        of id: StoreTransactionID, _ filter: TransactionHistoryFilter, page: String?, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<TransactionHistoryPage>

    /// Get Notification History.
    /// - Parameter page: the `paginationToken` of the page before; nil for the first.
    func notificationHistory(
        _ window: NotificationHistoryWindow, page: String?, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<NotificationHistoryPage>

    /// Finish Transaction: tells Apple that it is delivered.
    func finish(_ id: StoreTransactionID, _ context: StoreQueryContext) async -> StoreQueryAnswer<Bool>

    /// Send Consumption Information, version 2.
    func answerConsumption(
        of id: StoreTransactionID, _ answer: ConsumptionAnswer, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<Bool>
}

/// The app of a question, and the share of Apple's budget that it may take.
public struct StoreQueryContext: Sendable {
    public let bundleID: BundleID
    public let credentials: ServerAPICredentials
    /// The environment of the question. Nil: Production, and the sandbox where Production knows nothing of it.
    public let environment: StoreEnvironment?
    public let share: StoreQueryShare
    /// The end of the question: nothing is sent that could still be under way then, whatever it waits for in front of
    /// Apple. Nil: no end.
    public var notAfter: Timestamp?
    /// Called with each request that was sent, as it ends.
    public var ended: (@Sendable (AppleTry) -> Void)?

    public init(
        bundleID: BundleID, credentials: ServerAPICredentials, environment: StoreEnvironment?, share: StoreQueryShare,
        notAfter: Timestamp? = nil, ended: (@Sendable (AppleTry) -> Void)? = nil
    ) {
        self.bundleID = bundleID
        self.credentials = credentials
        self.environment = environment
        self.share = share
        self.notAfter = notAfter
        self.ended = ended
    }
}

/// The share of an app's budget that a kind of question may take.
public enum StoreQueryShare: Sendable, CaseIterable {
    /// A submission waits for it: as a retried one.
    case submission
    /// The queue of subscriptions: a fifth while fresh work waits.
    case subscriptions
    /// Apple's notification history: a tenth.
    case history
    /// Requests that nobody waits for, behind everything else.
    case background
}

public enum StoreQueryAnswer<Value: Sendable>: Sendable {
    case answered(Value)
    /// No environment that was asked knows of it.
    case notFound
    /// Apple will never take it. Its error code.
    case refused(code: Int64)
    /// The question is to be asked again.
    case trouble(AppleAnswer.Trouble)
    /// The operator's to mend.
    case blocked(AppleAnswer.Blockage)
}

extension StoreQueryAnswer: Equatable where Value: Equatable {}

/// The reason why a question has no answer.
public typealias StoreQueryFailure = StoreQueryAnswer<Never>

extension StoreQueryAnswer: Error where Value == Never {}

extension StoreQueryAnswer {
    /// Returns the answer, or throws why there is none.
    public func get() throws(StoreQueryFailure) -> Value {
        switch self {
        case .answered(let value): return value
        case .notFound: throw .notFound
        case .refused(let code): throw .refused(code: code)
        case .trouble(let trouble): throw .trouble(trouble)
        case .blocked(let blockage): throw .blocked(blockage)
        }
    }

    /// The judgement of a submission that needs the answer. Nil where Apple said all that it knows.
    public var judgement: Judgement? {
        switch self {
        case .answered, .notFound, .refused: nil
        case .trouble(let trouble): .undecided(trouble)
        case .blocked(let blockage): .blocked(blockage)
        }
    }
}

public struct TransactionHistoryFilter: Sendable, Equatable {
    /// The first purchase time, inclusive. Nil: all.
    public var from: Timestamp?
    /// The last purchase time, exclusive. Nil: all.
    public var until: Timestamp?
    public var productID: ProductID?
    public var productKinds: Set<ProductKind> = []
    public var subscriptionGroupID: String?

    public init() {}
}

public struct TransactionHistoryPage: Sendable, Equatable {
    public let transactions: [NotifiedTransaction]
    /// Nil where there are no more.
    public let next: String?

    public init(transactions: [NotifiedTransaction], next: String?) {
        self.transactions = transactions
        self.next = next
    }
}

/// The time from `from` to `to` in which Apple first tried to send a notification.
public struct NotificationHistoryWindow: Sendable, Equatable {
    public let from: Timestamp
    public let to: Timestamp

    public init(from: Timestamp, to: Timestamp) {
        self.from = from
        self.to = to
    }
}

public struct NotificationHistoryPage: Sendable, Equatable {
    /// Request bodies as Apple would have posted them, `{"signedPayload": …}`: for the parser of notifications.
    public let bodies: [[UInt8]]
    /// Nil where there are no more.
    public let next: String?

    public init(bodies: [[UInt8]], next: String?) {
        self.bodies = bodies
        self.next = next
    }
}

/// Source: ConsumptionRequest, App Store Server API 1.19 and later.
public struct ConsumptionAnswer: Sendable, Equatable {
    public enum Delivery: String, Sendable, CaseIterable {
        case delivered = "DELIVERED"
        case undelivered = "UNDELIVERED_OTHER"
    }

    public var delivery: Delivery
    public var providesSampleContent: Bool
    /// Thousandths of a percent; nil: not sent.
    public var consumedMilliPercent: Int32?
    public var refundPreference: ConsumptionPolicy.RefundPreference?

    public init(
        delivery: Delivery, providesSampleContent: Bool, consumedMilliPercent: Int32? = nil,
        refundPreference: ConsumptionPolicy.RefundPreference? = nil
    ) {
        self.delivery = delivery
        self.providesSampleContent = providesSampleContent
        self.consumedMilliPercent = consumedMilliPercent
        self.refundPreference = refundPreference
    }
}
