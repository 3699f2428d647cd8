import Fulfillment
import NamesAndTimes

/// A StoreKit 2 JWS as far as it can be read without asking anyone.
public enum SignedTransactionReading: Sendable, Equatable {
    /// The text is no JWS at all. Says why, and holds none of its content.
    case malformed(String)
    /// Apple signed it, but it is no transaction: a notification, renewal information, an app transaction.
    case notATransaction
    /// Apple signed it, and an id or the product of it cannot be read. Names the field.
    case nameless(String)
    /// The signature is not Apple's, and there is no transaction to read either. Never `.proven`.
    case unreadable(LocalSignature)
    case read(SignedTransaction)
}

/// One transaction that carries its own proof. Genuine as of `signedDate`: a refund since then does not show.
public struct SignedTransaction: Sendable, Equatable {
    /// `cancelledAt` is Apple's `revocationDate`.
    public var purchase: StorePurchase
    public var kind: ProductKind? { purchase.type?.kind }
    public var bundleID: BundleID
    /// Nil where it is a development machine's (`Xcode`, `LocalTesting`), which is always forged, and where it cannot be read
    /// or is not known here.
    public var environment: StoreEnvironment?
    public var signedDate: Timestamp?
    public var signature: LocalSignature
}
