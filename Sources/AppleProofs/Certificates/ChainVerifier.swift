import Crypto
import CryptoExtras
import Fulfillment
import SwiftASN1
import X509

/// Verifies a signer's certificate up to a trusted root. A chain has exactly a leaf, an intermediate and a root.
///
/// The verifier works from the root down. It computes with a certificate's key only after it has checked the issuer's
/// signature of the certificate.
struct ChainVerifier: Sendable {
    private let roots: AppleRoots
    private let cache: VerifiedChainCache

    init(roots: AppleRoots, cache: VerifiedChainCache) {
        self.roots = roots
        self.cache = cache
    }

    /// A verifier with these roots and an empty cache.
    var forgetful: ChainVerifier { ChainVerifier(roots: roots, cache: VerifiedChainCache(capacity: 1)) }

    /// The names of the lately verified chains, for people.
    var knownChains: [[String]] { cache.names }

    /// Returns whether the certificate is a trusted root, byte by byte.
    func trusts(_ certificate: CertificateOutline) -> Bool {
        // Every root issued itself, so the bytes of other certificates need no comparison.
        certificate.isSelfIssued && roots.roots.contains { ChainKey.areEqual($0.bytes[...], certificate.bytes) }
    }

    /// Returns the chain of `leaf` over one of `candidates`, which are possible issuers. Does not check the time. A
    /// self-issued certificate is never an intermediate, because Apple has no chain of only a leaf and a root.
    func verify(_ leaf: CertificateOutline, candidates: [CertificateOutline]) throws(ProofFailure) -> VerifiedChain {
        var failure = ProofFailure.forged(.intermediateMissing)
        for intermediate in candidates where intermediate.subject == leaf.issuer && !intermediate.isSelfIssued {
            do {
                return try verify(leaf, intermediate)
            } catch {
                // Apple renews an authority under its old name, so another candidate may be the issuer. A doubt
                // outweighs a forgery, because a certificate in doubt may be genuine even if other candidates are
                // forged.
                if case .forged = failure { failure = error }
            }
        }
        throw failure
    }

    /// Returns the chain of an iOS 6 receipt, which contains only its leaf.
    func verify(_ leaf: CertificateOutline) throws(ProofFailure) -> VerifiedChain {
        try verify(leaf, candidates: roots.intermediates)
    }

    func verify(_ leaf: CertificateOutline, _ intermediate: CertificateOutline) throws(ProofFailure) -> VerifiedChain {
        let key = ChainKey(leaf: leaf.bytes, intermediate: intermediate.bytes)
        if let known = cache.chain(for: key) { return known }
        let chain = try verifyAnew(leaf, intermediate)
        cache.insert(chain, for: key)
        return chain
    }

    /// Proves each certificate with its issuer's key, and only then reads its content. A certificate that its issuer
    /// did not sign is a forgery. Only a certificate that its issuer signed can be in doubt. The exception is a leaf
    /// whose signature has an unknown algorithm, which is in doubt too.
    private func verifyAnew(
        _ leaf: CertificateOutline, _ intermediate: CertificateOutline
    ) throws(ProofFailure) -> VerifiedChain {
        let namesakes = roots.roots.filter { $0.subject == intermediate.issuer }
        let isSigner = { (root: TrustedCertificate) in
            intermediate.signature(by: root.certificate.publicKey) == .valid
        }
        guard let root = namesakes.first(where: isSigner) else { throw .forged(.unknownRoot) }
        let authority = try Self.certificate(intermediate)
        guard authority.isAuthority else { throw .forged(.intermediateUsage) }

        guard leaf.issuer == intermediate.subject else { throw .forged(.brokenChain) }
        switch leaf.signature(by: authority.publicKey) {
        case .valid: break
        case .invalid: throw .forged(.brokenChain)
        case .unknownAlgorithm: throw .notProvable(.unknownAlgorithm)
        }
        let signer = try Self.certificate(leaf)
        guard signer.isForSigning else { throw .forged(.leafUsage) }

        guard let above = authority.validity, let below = signer.validity else {
            throw .notProvable(.unsupportedCertificate)
        }
        let from = max(root.validity.lowerBound, above.lowerBound, below.lowerBound)
        let until = min(root.validity.upperBound, above.upperBound, below.upperBound)
        guard from <= until else { throw .forged(.notValidThen) }
        var chain = VerifiedChain(key: Self.key(of: signer), validity: from...until)
        chain.names = [root.certificate, authority, signer].map(\.commonName)
        if authority.extensions[oid: Certificate.intermediateMarker] == nil {
            chain.missingMarker = .intermediateMarker
        } else if signer.extensions[oid: Certificate.leafMarker] == nil {
            chain.missingMarker = .leafMarker
        }
        if authority.hasUnknownCriticalExtension || signer.hasUnknownCriticalExtension {
            chain.doubt = .criticalExtension
        }
        return chain
    }

    /// Reads a certificate that its issuer signed. A fault in the certificate is a doubt, not a forgery.
    private static func certificate(_ outline: CertificateOutline) throws(ProofFailure) -> Certificate {
        if let doubt = outline.doubt { throw .notProvable(doubt) }
        guard let certificate = try? Certificate(derEncoded: outline.bytes) else {
            throw .notProvable(.unsupportedCertificate)
        }
        return certificate
    }

    private static func key(of certificate: Certificate) -> VerifiedChain.Key {
        if let key = _RSA.Signing.PublicKey(certificate.publicKey) { return .rsa(key) }
        if let key = P256.Signing.PublicKey(certificate.publicKey) { return .p256(key) }
        return .other
    }
}
