import Crypto
import CryptoExtras
import Fulfillment
import SwiftASN1
import X509

/// Leads a signer's certificate back to a trusted root: leaf, intermediate, root, never more nor fewer.
///
/// It works from the root down, so that no key is computed with before the one above it is Apple's.
struct ChainVerifier: Sendable {
    private let roots: AppleRoots
    private let cache: VerifiedChainCache

    init(roots: AppleRoots, cache: VerifiedChainCache) {
        self.roots = roots
        self.cache = cache
    }

    /// The chain of `leaf` over one of `candidates`, whenever it was valid.
    func verify(_ leaf: CertificateOutline, candidates: [CertificateOutline]) throws(ProofFailure) -> VerifiedChain {
        var failure = ProofFailure.forged(.intermediateMissing)
        for intermediate in candidates where intermediate.subject == leaf.issuer {
            do {
                return try verify(leaf, intermediate)
            } catch {
                // An authority that was renewed keeps its name: the other one may be the issuer.
                failure = error
            }
        }
        throw failure
    }

    /// The chain of a receipt that names its leaf alone.
    func verify(_ leaf: CertificateOutline) throws(ProofFailure) -> VerifiedChain {
        try verify(leaf, candidates: roots.intermediates)
    }

    func verify(_ leaf: CertificateOutline, _ intermediate: CertificateOutline) throws(ProofFailure) -> VerifiedChain {
        let digest = Self.digest(leaf, intermediate)
        if let known = cache.chain(for: digest) { return known }
        let chain = try verifyAnew(leaf, intermediate)
        cache.insert(chain, for: digest)
        return chain
    }

    private static func digest(_ leaf: CertificateOutline, _ intermediate: CertificateOutline) -> Digest256 {
        var hash = SHA256()
        // A certificate says its own length: no two pairs run together.
        hash.update(data: leaf.bytes)
        hash.update(data: intermediate.bytes)
        return Digest256(bytes: hash.finalize().withUnsafeBytes { Array($0) })
    }

    private func verifyAnew(
        _ leaf: CertificateOutline, _ intermediate: CertificateOutline
    ) throws(ProofFailure) -> VerifiedChain {
        let namesakes = roots.roots.filter { $0.subject == intermediate.issuer }
        guard !namesakes.isEmpty else { throw .forged(.unknownRoot) }
        if let doubt = intermediate.doubt ?? leaf.doubt { throw .notProvable(doubt) }

        let authority = try Self.certificate(intermediate)
        let isSigned = { (root: TrustedCertificate) in Self.isSigned(authority, by: root.certificate) }
        guard let root = namesakes.first(where: isSigned) else { throw .forged(.unknownRoot) }
        guard authority.isAuthority else { throw .forged(.intermediateUsage) }
        guard authority.extensions[oid: Certificate.intermediateMarker] != nil else {
            throw .forged(.intermediateMarker)
        }

        let signer = try Self.certificate(leaf)
        guard leaf.issuer == intermediate.subject, Self.isSigned(signer, by: authority) else {
            throw .forged(.brokenChain)
        }
        guard signer.isForSigning else { throw .forged(.leafUsage) }
        guard signer.extensions[oid: Certificate.leafMarker] != nil else { throw .forged(.leafMarker) }
        guard !authority.hasUnknownCriticalExtension, !signer.hasUnknownCriticalExtension else {
            throw .notProvable(.criticalExtension)
        }
        guard let above = authority.validity, let below = signer.validity else {
            throw .notProvable(.unsupportedCertificate)
        }
        let from = max(root.validity.lowerBound, above.lowerBound, below.lowerBound)
        let until = min(root.validity.upperBound, above.upperBound, below.upperBound)
        guard from <= until else { throw .forged(.notValidThen) }
        return VerifiedChain(key: Self.key(of: signer), validity: from...until)
    }

    private static func certificate(_ outline: CertificateOutline) throws(ProofFailure) -> Certificate {
        guard let certificate = try? Certificate(derEncoded: outline.bytes) else {
            throw .notProvable(.unsupportedCertificate)
        }
        return certificate
    }

    private static func isSigned(_ certificate: Certificate, by issuer: Certificate) -> Bool {
        issuer.publicKey.isValidSignature(certificate.signature, for: certificate)
    }

    private static func key(of certificate: Certificate) -> VerifiedChain.Key {
        if let key = _RSA.Signing.PublicKey(certificate.publicKey) { return .rsa(key) }
        if let key = P256.Signing.PublicKey(certificate.publicKey) { return .p256(key) }
        return .other
    }
}
