import Fulfillment
import NamesAndTimes

/// A StoreKit 2 JWS, as far as it can be read without asking anyone.
public enum SignedTransactionReading: Sendable, Equatable {
    /// The text is no JWS at all. The associated text says why, and holds none of its content.
    case malformed(String)
    /// Apple signed it, but it is no transaction: a notification, renewal information, an app transaction.
    case notATransaction
    /// Apple signed it, but its id or product cannot be read. The text names the field.
    case nameless(String)
    /// The signature is not Apple's, and there is no transaction to read either. Never `.proven`.
    case unreadable(LocalSignature)
    case read(SignedTransaction)
}

/// One transaction that carries its own proof. It is genuine as of `signedDate`: a later refund does not show.
public struct SignedTransaction: Sendable, Equatable {
    /// The purchase. Its `cancelledAt` is Apple's `revocationDate`.
    public var purchase: StorePurchase
    public var kind: ProductKind? { purchase.type?.kind }
    public var bundleID: BundleID
    /// The environment; nil if it is a development machine's (`Xcode`, `LocalTesting`), which is always forged, or if
    /// it cannot be read or is unknown.
    public var environment: StoreEnvironment?
    public var signedDate: Timestamp?
    public var signature: LocalSignature
}
