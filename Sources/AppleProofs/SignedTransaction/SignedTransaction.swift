import Fulfillment
import NamesAndTimes

/// A StoreKit 2 JWS, as far as receiptd can read it without asking Apple.
public enum SignedTransactionReading: Sendable, Equatable {
    /// The text is no JWS at all. The associated text says why, and holds none of its content.
    case malformed(String)
    /// Apple signed it, but it is no transaction: a notification, renewal information, an app transaction.
    case notATransaction
    /// Apple signed the text, but the transaction's id or product cannot be read. The associated text names the field.
    case nameless(String)
    /// The signature is not proven, and the text names no transaction. The associated state is never `.proven`.
    case unreadable(LocalSignature)
    case read(SignedTransaction)
}

/// One transaction that carries its own proof. It is genuine as of `signedDate`, and shows no later refund.
public struct SignedTransaction: Sendable, Equatable {
    /// The purchase. Its `cancelledAt` is Apple's `revocationDate`.
    public var purchase: StorePurchase
    public var kind: ProductKind? { purchase.type?.kind }
    public var bundleID: BundleID
    /// The environment; nil if a development machine signed the transaction (`Xcode`, `LocalTesting`), which is always
    /// forged, or if the environment cannot be read or is unknown.
    public var environment: StoreEnvironment?
    public var signedDate: Timestamp?
    public var signature: LocalSignature
}
