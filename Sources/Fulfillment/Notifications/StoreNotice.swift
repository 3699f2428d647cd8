import NamesAndTimes

/// The effects of a notification, which one SQL transaction commits.
public struct StoreNotice: Sendable, Equatable {
    /// The days for which receiptd remembers a notification. Apple keeps a notification for 180 days, and may send it
    /// again within that time.
    public static let rememberedDays: Int32 = 200

    public let id: Identifier
    /// Apple's `notificationType`.
    public let type: String
    public let subtype: String?
    public let signedAt: Timestamp
    public let bundleID: BundleID?
    public let environment: StoreEnvironment?
    /// The notification's transaction; nil if the notification has none, or if receiptd did not use the transaction.
    public private(set) var transactionID: StoreTransactionID?
    public var refund: RefundNotice?
    public var purchase: AnnouncedPurchase?
    public var fact: SubscriptionFact?
    public var request: RefundRequest?

    public init(_ notification: StoreNotification) {
        id = notification.id
        type = notification.type
        subtype = notification.subtype
        signedAt = notification.signedAt
        bundleID = notification.bundleID
        environment = notification.environment
    }

    /// Makes a notice that has only a refund.
    public init(_ refund: RefundNotice, type: String, id: Identifier) {
        self.id = id
        self.type = type
        subtype = nil
        signedAt = refund.signedAt
        bundleID = refund.transaction.bundleID
        environment = refund.transaction.environment
        transactionID = refund.transactionID
        self.refund = refund
    }

    /// True if the notice has no effect, so that receiptd only counts it.
    public var isUnconcerned: Bool { refund == nil && purchase == nil && fact == nil && request == nil }

    /// The original transactions and periods whose claims (the owners' rows) the worker locks before it applies the
    /// notice.
    public var originals: Set<StoreTransactionID> {
        var originals: Set<StoreTransactionID> = []
        if let refund {
            originals.insert(refund.originalTransactionID)
            if let period = refund.period { originals.insert(period) }
        }
        if let purchase { originals.insert(purchase.purchase.originalTransactionID) }
        if let fact { originals.insert(fact.originalTransactionID) }
        if let request { originals.formUnion([request.originalTransactionID, request.period].compactMap(\.self)) }
        for previous in [purchase?.previousOriginalTransactionID, fact?.previousOriginalTransactionID] {
            if let previous { originals.insert(previous) }
        }
        return originals
    }

    mutating func isAbout(_ transaction: NotifiedTransaction) {
        transactionID = transaction.purchase.transactionID
    }
}

/// The verdict on a notification.
public enum NotificationVerdict: Sendable, Equatable {
    case taken(StoreNotice)
    /// The notification reports a refund whose share receiptd cannot read. The worker asks Apple for the transaction.
    /// The case is boxed, because it is rare.
    indirect case needsPart(UnreadRefund)
    case deadLetter(DeadLetter)
}
