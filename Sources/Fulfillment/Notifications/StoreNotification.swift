import NamesAndTimes

/// The parts of a signed App Store Server Notification (version 2) that receiptd uses.
public struct StoreNotification: Sendable, Equatable {
    public typealias Transaction = SignedPart<NotifiedTransaction>

    /// Apple's `notificationUUID`, which does not change when Apple sends the notification again.
    public var id: Identifier
    /// Apple's `notificationType`.
    public var type: String
    public var subtype: String?
    public var signedAt: Timestamp
    /// The app; nil if the notification is not about an app's purchases.
    public var bundleID: BundleID?
    /// Apple's number of the app; nil or 0 if Apple names none, which is so in the sandbox.
    public var appAppleID: Int64?
    public var environment: StoreEnvironment?
    /// The subscription's state, Apple's `status`; nil if the notification is not about a subscription.
    public var state: SubscriptionState?
    /// The player's reason for a refund, Apple's `consumptionRequestReason`; nil if Apple names none.
    public var consumptionRequestReason: String?
    /// The content of `signedTransactionInfo`.
    public var transaction: Transaction
    /// The content of `signedRenewalInfo`.
    public var renewal: SignedPart<RenewalInfo>

    public init(
        id: Identifier, type: String, subtype: String? = nil, signedAt: Timestamp, bundleID: BundleID?,
        appAppleID: Int64? = nil, environment: StoreEnvironment?, transaction: Transaction,
        renewal: SignedPart<RenewalInfo> = .none
    ) {
        self.id = id
        self.type = type
        self.subtype = subtype
        self.signedAt = signedAt
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.environment = environment
        self.transaction = transaction
        self.renewal = renewal
    }
}

/// A part of a notification that Apple signs separately.
public enum SignedPart<Value: Sendable & Equatable>: Sendable, Equatable {
    case none
    /// Apple did not sign the part, or the part is of another kind. The text says why, without any of the content.
    case unusable(String)
    /// receiptd cannot tell whether Apple signed the part. The text says why.
    case notProvable(String)
    /// Apple signed the part, but receiptd cannot read a field that identifies its subject. The text names the field.
    case unreadable(String)
    case told(Value)

    public var told: Value? {
        if case .told(let value) = self { value } else { nil }
    }
}

/// A transaction that Apple signed in a JWS of its own, for example in a notification.
public struct NotifiedTransaction: Sendable, Equatable {
    /// The purchase. Its `cancelledAt` is Apple's `revocationDate`.
    public var purchase: StorePurchase
    public var kind: ProductKind?
    public var bundleID: BundleID
    public var environment: StoreEnvironment
    /// The refunded share in thousandths of a percent; nil if Apple names none.
    public var refundedMilliPercent: Int32? {
        get { purchase.refundedMilliPercent }
        set { purchase.refundedMilliPercent = newValue }
    }
    /// Apple's `revocationType`, such as `REFUND_PRORATED`; nil if Apple names none.
    public var revocationType: String? {
        get { purchase.revocationType }
        set { purchase.revocationType = newValue }
    }
    /// The time at which Apple signed the transaction; nil if Apple gave none.
    public var signedAt: Timestamp?
    public var subscriptionGroupID: String?
    /// The original transaction of the earlier subscription that the transaction's subscription continues; nil if Apple
    /// names none.
    public var previousOriginalTransactionID: StoreTransactionID?

    public init(
        purchase: StorePurchase, kind: ProductKind?, bundleID: BundleID, environment: StoreEnvironment,
        refundedMilliPercent: Int32? = nil
    ) {
        self.purchase = purchase
        self.kind = kind
        self.bundleID = bundleID
        self.environment = environment
        if let refundedMilliPercent { self.purchase.refundedMilliPercent = refundedMilliPercent }
    }
}

/// Reads notifications and proves their signatures. The parser sends no request.
public protocol NotificationParser: Sendable {
    /// Reads a notification and its signed parts.
    /// - Parameter body: the body that Apple posted, a JSON object with a `signedPayload`.
    func parse(notification body: [UInt8]) -> NotificationReading
}

public enum NotificationReading: Sendable, Equatable {
    /// The data is not a notification, or Apple did not sign it. The text says why, without any of the content.
    case unusable(String)
    /// receiptd cannot tell whether Apple signed the notification. The text says why.
    case notProvable(String)
    case read(StoreNotification)
}
