/// An App Store Server Notification (version 2) that Apple signed, as far as it is of use here.
public struct StoreNotification: Sendable, Equatable {
    /// Apple's `notificationUUID`: the same each time that it is delivered.
    public var id: Identifier
    /// Apple's `notificationType`.
    public var type: String
    public var signedAt: Timestamp
    /// Nil where it is about no app's purchases.
    public var bundleID: BundleID?
    /// Nil or 0 where Apple does not tell it, as in the sandbox.
    public var appAppleID: Int64?
    public var environment: StoreEnvironment?
    public var transaction: Transaction

    /// What `signedTransactionInfo` holds.
    public enum Transaction: Sendable, Equatable {
        case none
        /// Apple did not sign it, or it is no transaction. Says why, and holds none of its content.
        case unusable(String)
        case told(NotifiedTransaction)
    }

    public init(
        id: Identifier, type: String, signedAt: Timestamp, bundleID: BundleID?, appAppleID: Int64? = nil,
        environment: StoreEnvironment?, transaction: Transaction
    ) {
        self.id = id
        self.type = type
        self.signedAt = signedAt
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.environment = environment
        self.transaction = transaction
    }
}

/// The transaction of a notification, from a JWS of its own that Apple signed.
public struct NotifiedTransaction: Sendable, Equatable {
    /// `cancelledAt` is Apple's `revocationDate`.
    public var purchase: StorePurchase
    public var kind: ProductKind?
    public var bundleID: BundleID
    public var environment: StoreEnvironment
    /// Thousandths of a percent that were refunded; nil where Apple does not tell.
    public var refundedMilliPercent: Int32?

    public init(
        purchase: StorePurchase, kind: ProductKind?, bundleID: BundleID, environment: StoreEnvironment,
        refundedMilliPercent: Int32? = nil
    ) {
        self.purchase = purchase
        self.kind = kind
        self.bundleID = bundleID
        self.environment = environment
        self.refundedMilliPercent = refundedMilliPercent
    }
}

/// The seam to what reads notifications and proves their signatures. It asks nobody.
public protocol NotificationParser: Sendable {
    /// - Parameter body: what Apple posted: a JSON object with a `signedPayload`.
    func parse(notification body: [UInt8]) -> NotificationReading
}

public enum NotificationReading: Sendable, Equatable {
    /// Not a notification, or not Apple's. Says why, and holds none of its content.
    case unusable(String)
    case read(StoreNotification)
}
