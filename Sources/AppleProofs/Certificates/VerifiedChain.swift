import Crypto
import CryptoExtras
import Fulfillment
import NamesAndTimes

/// A signer's key for which a trusted root vouches, with the time in which the chain is valid.
struct VerifiedChain: Sendable {
    let key: Key
    /// The time in which leaf, intermediate and root were all valid.
    let validity: ClosedRange<Timestamp>
    /// Common names of root, intermediate and leaf, for people.
    var names: [String] = []
    /// Apple's first marker that the chain lacks; nil if it has all. The root vouches for the chain even without its
    /// markers.
    var missingMarker: Forgery?
    /// The reason why the chain's key proves no signatures; nil if there is none.
    var doubt: Doubt?

    enum Key: Sendable {
        case rsa(_RSA.Signing.PublicKey)
        case p256(P256.Signing.PublicKey)
        /// A certificate that signs neither receipts nor transactions.
        case other
    }

    /// Throws unless the chain was valid at `time`, at which a signature was made. A certificate that has expired since
    /// still proves the signature.
    func check(at time: Timestamp) throws(ProofFailure) {
        guard validity.contains(time) else { throw .forged(.notValidThen) }
    }
}
