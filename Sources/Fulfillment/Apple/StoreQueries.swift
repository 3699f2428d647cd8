import NamesAndTimes

/// Sends receiptd's requests to the App Store Server API, except those about a submission's proof. Each call is one try
/// and never throws: an outage is a value. Every call but one returns only proven parts of Apple's answer. The
/// exception is `notificationHistory`, which returns unproven notifications.
public protocol StoreQueries: Sendable {
    /// Calls the endpoint "Get Transaction Info".
    func transaction(
        _ id: StoreTransactionID, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<NotifiedTransaction>

    /// Calls the endpoint "Get All Subscription Statuses", for the customer of the transaction.
    func subscriptionStatuses(
        of id: StoreTransactionID, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<[SubscriptionStatus]>

    /// Calls the endpoint "Get Transaction History", version 2.
    /// - Parameter page: the `revision` of the page before; nil for the first page.
    func transactionHistory(
        of id: StoreTransactionID, _ filter: TransactionHistoryFilter, page: String?, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<TransactionHistoryPage>

    /// Calls the endpoint "Get Notification History".
    /// - Parameter page: the `paginationToken` of the page before; nil for the first page.
    func notificationHistory(
        _ window: NotificationHistoryWindow, page: String?, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<NotificationHistoryPage>

    /// Calls the endpoint "Finish Transaction", which tells Apple that the game has delivered the purchase.
    func finish(_ id: StoreTransactionID, _ context: StoreQueryContext) async -> StoreQueryAnswer<Bool>

    /// Calls the endpoint "Send Consumption Information", version 2.
    func answerConsumption(
        of id: StoreTransactionID, _ answer: ConsumptionAnswer, _ context: StoreQueryContext
    ) async -> StoreQueryAnswer<Bool>
}

/// The app of a query, and the share of the request budget that the query may use.
public struct StoreQueryContext: Sendable {
    public let bundleID: BundleID
    public let credentials: ServerAPICredentials
    /// The environment to ask; nil to ask Production, and then the sandbox if Production does not know the transaction.
    public let environment: StoreEnvironment?
    public let share: StoreQueryShare
    /// The time by which the query must be over; nil for no limit. receiptd sends no request that could still be under
    /// way at this time.
    public var notAfter: Timestamp?
    /// A function that receiptd calls at the end of each sent request.
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

/// The share of an app's request budget that a kind of query may use.
public enum StoreQueryShare: Sendable, CaseIterable {
    /// A submission waits for the answer. The request takes its turn like a retry of a submission.
    case submission
    /// The query is part of a check of a subscription. While fresh submissions wait, these checks and all retries
    /// together get a fifth of the places.
    case subscriptions
    /// The query reads Apple's notification history, which gets a tenth of the budget.
    case history
    /// No player waits for the answer. receiptd sends the request only if no other request waits.
    case background
}

public enum StoreQueryAnswer<Value: Sendable>: Sendable {
    case answered(Value)
    /// Apple does not know the transaction in any environment that receiptd asked.
    case notFound
    /// Apple will never accept the request. The code is Apple's, or `StoreErrorCode.unreadableAnswer`.
    case refused(code: Int64)
    /// receiptd must ask again.
    case trouble(AppleAnswer.Trouble)
    /// An operator must mend the settings.
    case blocked(AppleAnswer.Blockage)
}

extension StoreQueryAnswer: Equatable where Value: Equatable {}

/// The reason why a query has no answer.
public typealias StoreQueryFailure = StoreQueryAnswer<Never>

extension StoreQueryAnswer: Error where Value == Never {}

extension StoreQueryAnswer {
    /// Returns the value. Throws the failure if there is no value.
    public func get() throws(StoreQueryFailure) -> Value {
        switch self {
        case .answered(let value): return value
        case .notFound: throw .notFound
        case .refused(let code): throw .refused(code: code)
        case .trouble(let trouble): throw .trouble(trouble)
        case .blocked(let blockage): throw .blocked(blockage)
        }
    }

    /// The judgement of a submission that waits for the answer; nil if the worker need not ask again.
    public var judgement: Judgement? {
        switch self {
        case .answered, .notFound, .refused: nil
        case .trouble(let trouble): .undecided(trouble)
        case .blocked(let blockage): .blocked(blockage)
        }
    }
}

public struct TransactionHistoryFilter: Sendable, Equatable {
    /// The earliest purchase time, inclusive; nil for no limit.
    public var from: Timestamp?
    /// The latest purchase time, exclusive; nil for no limit.
    public var until: Timestamp?
    public var productID: ProductID?
    public var productKinds: Set<ProductKind> = []
    public var subscriptionGroupID: String?

    public init() {}
}

public struct TransactionHistoryPage: Sendable, Equatable {
    public let transactions: [NotifiedTransaction]
    /// The `revision` of the next page; nil at the last page.
    public let next: String?

    public init(transactions: [NotifiedTransaction], next: String?) {
        self.transactions = transactions
        self.next = next
    }
}

/// A time range of Apple's notification history. It covers the notifications that Apple first tried to send between
/// `from` and `to`.
public struct NotificationHistoryWindow: Sendable, Equatable {
    public let from: Timestamp
    public let to: Timestamp

    public init(from: Timestamp, to: Timestamp) {
        self.from = from
        self.to = to
    }
}

public struct NotificationHistoryPage: Sendable, Equatable {
    /// Notifications in the form in which Apple posts them, `{"signedPayload": …}`, for `NotificationParser`.
    public let bodies: [[UInt8]]
    /// The `paginationToken` of the next page; nil at the last page.
    public let next: String?

    public init(bodies: [[UInt8]], next: String?) {
        self.bodies = bodies
        self.next = next
    }
}

/// The body of a request to the endpoint "Send Consumption Information" (`ConsumptionRequest`, App Store Server API
/// 1.19 and later).
public struct ConsumptionAnswer: Sendable, Equatable {
    public enum Delivery: String, Sendable, CaseIterable {
        case delivered = "DELIVERED"
        case undelivered = "UNDELIVERED_OTHER"
    }

    public var delivery: Delivery
    public var providesSampleContent: Bool
    /// The consumed share in thousandths of a percent; nil to send none.
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
