import NamesAndTimes

/// The effects of a notification, which one SQL transaction makes durable.
public struct StoreNotice: Sendable, Equatable {
    /// The days for which receiptd remembers a notification. Apple keeps a notification for 180 days, and may send it
    /// again until then.
    public static let rememberedDays: Int32 = 200

    public let id: Identifier
    /// Apple's `notificationType`.
    public let type: String
    public let subtype: String?
    public let signedAt: Timestamp
    public let bundleID: BundleID?
    public let environment: StoreEnvironment?
    /// The notification's transaction; nil if it names none or receiptd had no use for it.
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

    /// Makes a notice of a refund and nothing else.
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

    /// True if the notice changes nothing here and is only counted.
    public var isUnconcerned: Bool { refund == nil && purchase == nil && fact == nil && request == nil }

    /// The original transactions and periods whose claims are locked before the notice is entered.
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
    /// The notification reports a refund whose share cannot be read. The worker asks Apple for the transaction. The
    /// case is boxed, because it is rare.
    indirect case needsPart(UnreadRefund)
    case deadLetter(DeadLetter)
}
