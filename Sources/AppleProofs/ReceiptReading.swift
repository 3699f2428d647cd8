import Fulfillment
import NamesAndTimes

/// A receipt, as far as receiptd can read it without asking Apple.
public enum ReceiptReading: Sendable, Equatable {
    /// The bytes are no receipt, or a receipt without a signer or a creation date. The text says why, and holds none of
    /// the content.
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
    /// Apple's number of the app; nil or 0 if the receipt names none, as in the sandbox.
    public var appAppleID: Int64?
    /// The environment; nil if the receipt names neither Production nor the sandbox. A transaction receipt names only
    /// the sandbox, and outside of the signed part, so that it is never known to be Production.
    public var environment: StoreEnvironment?
    /// The time as of which the signature was judged. For a transaction receipt this is the time of purchase.
    public var creationDate: Timestamp
    /// The purchases in the receipt's own order, repeated ids included.
    public var purchases: [StorePurchase]
    /// The kind of each purchase's product, in the same order as the purchases; nil if the receipt names none.
    public var kinds: [ProductKind?]
    /// The number of rows that receiptd cannot read as purchases; Apple can.
    public var unreadablePurchases: Int
    /// True if another field on which verdicts depend is present and unreadable: Apple's id of the app or, in a
    /// transaction receipt, the original transaction, the expiry or the cancellation date.
    var hasUnreadableFields = false
    public var holdsAutoRenewable: Bool
    /// True if Xcode or its test server issued the receipt. Apple does not sign such a receipt.
    public var isLocal = false
    public var signature: LocalSignature

    /// True if a period of a subscription has a cancellation date. A receipt dates a refund and an upgrade to another
    /// plan alike, and only Apple can tell them apart.
    var hasCancelledPeriod: Bool {
        zip(purchases, kinds).contains { purchase, kind in
            purchase.cancelledAt != nil && (kind == .autoRenewableSubscription || purchase.expiresAt != nil)
        }
    }
}
