import Crypto
import CryptoExtras
import Fulfillment
import NamesAndTimes

/// A signer's key whose certificate chain ends in a trusted root, with the time in which the chain is valid.
struct VerifiedChain: Sendable {
    let key: Key
    /// The time in which leaf, intermediate and root were all valid.
    let validity: ClosedRange<Timestamp>
    /// Common names of root, intermediate and leaf, for people.
    var names: [String] = []
    /// The first of Apple's markers that the chain lacks; nil if it lacks none. A chain without a marker may still end
    /// in a trusted root.
    var missingMarker: Forgery?
    /// The reason why receiptd does not accept the key's signatures; nil if there is none.
    var doubt: Doubt?

    enum Key: Sendable {
        case rsa(_RSA.Signing.PublicKey)
        case p256(P256.Signing.PublicKey)
        /// A certificate that signs neither receipts nor transactions.
        case other
    }

    /// Throws unless the chain was valid at `time`, the time of the signature. A certificate that expired later still
    /// proves the signature.
    func check(at time: Timestamp) throws(ProofFailure) {
        guard validity.contains(time) else { throw .forged(.notValidThen) }
    }
}
