import Crypto
import CryptoExtras
import Fulfillment
import NamesAndTimes

/// A signer's key that Apple's root vouches for, and for which time.
struct VerifiedChain: Sendable {
    let key: Key
    /// The time in which leaf, intermediate and root were all valid.
    let validity: ClosedRange<Timestamp>
    /// Common names of root, intermediate and leaf, for people.
    var names: [String] = []
    /// The root vouches for it, but not as a signer of what the App Store sells.
    var missingMarker: Forgery?
    /// The reason why signatures of its key cannot be called proven all the same.
    var doubt: Doubt?

    enum Key: Sendable {
        case rsa(_RSA.Signing.PublicKey)
        case p256(P256.Signing.PublicKey)
        /// A certificate that signs neither receipts nor transactions.
        case other
    }

    /// Signatures are judged as of when they were made: a certificate that has expired since proves them all the same.
    func check(at time: Timestamp) throws(ProofFailure) {
        guard validity.contains(time) else { throw .forged(.notValidThen) }
    }
}
