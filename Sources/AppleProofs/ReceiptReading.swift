import Fulfillment
import NamesAndTimes

/// A receipt as far as it can be read without asking anyone.
public enum ReceiptReading: Sendable, Equatable {
    /// The bytes are no receipt at all, or one without a signer or a creation date. Says why, and holds none of its
    /// content.
    case malformed(String)
    case read(LocalReceipt)
}

public struct LocalReceipt: Sendable, Equatable {
    public enum Style: Sendable {
        /// iOS 7 and later: PKCS #7, all of an app's purchases.
        case appReceipt
        /// iOS 6: a property list with one purchase.
        case transactionReceipt
    }

    public var style: Style
    public var bundleID: BundleID?
    /// Nil or 0 where the receipt does not tell it, as in the sandbox.
    public var appAppleID: Int64?
    /// Nil where the receipt does not say, or names neither of the two. A transaction receipt says so outside of what is
    /// signed, and only in the sandbox: it is never known to be Production.
    public var environment: StoreEnvironment?
    /// The time as of which the signature was judged: for a transaction receipt the time of its purchase.
    public var creationDate: Timestamp
    /// The purchases in the receipt's own order, repeated ids included.
    public var purchases: [StorePurchase]
    /// The receipt's kind of the product of each purchase, in the same order; nil if the receipt has none.
    public var kinds: [ProductKind?]
    /// The number of rows that receiptd cannot read as purchases; Apple can.
    public var unreadablePurchases: Int
    /// Something else in it that decides is there and cannot be read.
    public var hasUnreadableFields = false
    public var holdsAutoRenewable: Bool
    /// Issued by Xcode or its test server, which Apple does not sign.
    public var isLocal = false
    public var signature: LocalSignature

    /// Whether a period of a subscription has a cancellation date: a receipt dates a refund and an upgrade to another plan
    /// alike, and only Apple tells which of the two it was.
    public var hasCancelledPeriod: Bool {
        zip(purchases, kinds).contains { purchase, kind in
            purchase.cancelledAt != nil && (kind == .autoRenewableSubscription || purchase.expiresAt != nil)
        }
    }
}
