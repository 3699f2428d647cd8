import Fulfillment
import NamesAndTimes

/// A receipt, as far as receiptd can read it without asking Apple.
public enum ReceiptReading: Sendable, Equatable {
    /// The bytes are not a receipt, or a required part is missing. An app receipt needs a signer and a creation date. A
    /// transaction receipt needs a signature, a transaction and a product. The text says why, without any of the
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
    /// Apple's number of the app; nil or 0 if the receipt names none, which is so in the sandbox.
    public var appAppleID: Int64?
    /// The environment; nil if the receipt names neither Production nor the sandbox. A transaction receipt can name
    /// only the sandbox, in its unsigned part. So receiptd never knows that a transaction receipt is of Production.
    public var environment: StoreEnvironment?
    /// The time at which the signature must be valid: an app receipt's creation date, or a transaction receipt's
    /// purchase time; nil if a transaction receipt has no readable purchase time.
    public var creationDate: Timestamp?
    /// The purchases in the receipt's own order. An id may be repeated.
    public var purchases: [StorePurchase]
    /// The kinds of the purchases' products, in the order of `purchases`; nil for a purchase without a kind.
    public var kinds: [ProductKind?]
    /// The number of entries that receiptd cannot read as purchases. Apple can read them.
    public var unreadablePurchases: Int
    /// True if another field on which verdicts depend is unreadable. In an app receipt, this field is Apple's number of
    /// the app. In a transaction receipt, the field may also be the original transaction, the quantity, the purchase
    /// time, the expiry or the cancellation date.
    var hasUnreadableFields = false
    public var holdsAutoRenewable: Bool
    /// True if Xcode or its test server issued the receipt. Apple does not sign a local receipt.
    public var isLocal = false
    public var signature: LocalSignature

    /// True if a period of a subscription has a cancellation date. In a receipt, this date may mean a refund or an
    /// upgrade to another plan. Only Apple knows which of the two it is.
    var hasCancelledPeriod: Bool {
        zip(purchases, kinds).contains { purchase, kind in
            purchase.cancelledAt != nil && (kind == .autoRenewableSubscription || purchase.expiresAt != nil)
        }
    }
}
