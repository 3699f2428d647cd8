import Fulfillment
import NamesAndTimes

/// A StoreKit 2 JWS, as far as receiptd can read it without asking Apple.
public enum SignedTransactionReading: Sendable, Equatable {
    /// The proof is not a JWS. The associated value says why, and quotes nothing of the proof.
    case malformed(String)
    /// Apple signed the proof, but it is something other than a transaction: a notification, renewal information or an
    /// app transaction.
    case notATransaction
    /// Apple signed the proof, but receiptd cannot read the transaction's id or product. The associated value names the
    /// field.
    case nameless(String)
    /// The signature is not proven, and the text names no transaction. The associated state is never `.proven`.
    case unreadable(LocalSignature)
    case read(SignedTransaction)
}

/// One transaction with its own signature. The transaction is as it was at `signedDate`, and does not show a later
/// refund.
public struct SignedTransaction: Sendable, Equatable {
    /// The purchase. Its `cancelledAt` is Apple's `revocationDate`.
    public var purchase: StorePurchase
    public var kind: ProductKind? { purchase.type?.kind }
    public var bundleID: BundleID
    /// The environment; nil if it is unreadable or unknown, or if a development machine signed the transaction
    /// (`Xcode`, `LocalTesting`). A development machine's transaction counts as forged.
    public var environment: StoreEnvironment?
    public var signedDate: Timestamp?
    public var signature: LocalSignature
}
