import Crypto
import Encodings
import Fulfillment
import NamesAndTimes

extension CompactJWS {
    private static let chainLength = 3

    /// Returns whether Apple signed the JWS with a chain that was valid at `time`. `time` is nil for data without a
    /// readable signing time. Then the function does not check the time in which the chain is valid.
    ///
    /// The algorithm is always ES256, and the key is the leaf's key. A header with another algorithm counts as forged.
    /// The chain must end in a trusted root. The root certificate in the header does not count.
    func signature(at time: Timestamp?, chains: ChainVerifier) -> LocalSignature {
        do throws(ProofFailure) {
            try prove(at: time, chains: chains)
            return .proven
        } catch {
            return error.signature
        }
    }

    private func prove(at time: Timestamp?, chains: ChainVerifier) throws(ProofFailure) {
        guard header["alg"]?.string == "ES256" else { throw .forged(.algorithm) }
        guard header["crit"] == nil else { throw .forged(.criticalHeader) }
        let (leaf, intermediate) = try certificates()
        let chain = try chains.verify(leaf, candidates: [intermediate])
        if let missing = chain.missingMarker { throw .forged(missing) }
        if let time { try chain.check(at: time) }
        guard case .p256(let key) = chain.key else { throw .forged(.algorithm) }
        guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature),
            key.isValidSignature(signature, for: signedOctets)
        else { throw .forged(.signature) }
        if let doubt = chain.doubt { throw .notProvable(doubt) }
    }

    private func certificates() throws(ProofFailure) -> (leaf: CertificateOutline, intermediate: CertificateOutline) {
        guard let chain = header["x5c"]?.array, !chain.isEmpty else { throw .forged(.chainMissing) }
        guard chain.count == Self.chainLength else { throw .forged(.chainLength) }
        return (try Self.certificate(chain[0]), try Self.certificate(chain[1]))
    }

    private static func certificate(_ value: JSONValue) throws(ProofFailure) -> CertificateOutline {
        guard let text = value.string, let bytes = Base64.decode(text.utf8),
            let outline = try? CertificateOutline(bytes)
        else { throw .forged(.unreadableCertificate) }
        return outline
    }
}
