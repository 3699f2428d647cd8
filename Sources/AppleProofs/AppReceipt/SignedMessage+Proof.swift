import Crypto
import CryptoExtras
import Fulfillment
import NamesAndTimes

extension SignedMessage {
    /// Returns whether Apple signed the content with a chain that was valid at `time`. `time` is the receipt's creation
    /// date, so that a receipt stays valid after its certificates have expired.
    func signature(_ signer: MessageSigner, at time: Timestamp, chains: ChainVerifier) -> LocalSignature {
        do throws(ProofFailure) {
            try prove(signer, at: time, chains: chains)
            return .proven
        } catch {
            return error.signature
        }
    }

    /// Checks the chain and the signature before receiptd's own limits. So an invalid signature counts as forged even
    /// if the message also exceeds a limit.
    private func prove(_ signer: MessageSigner, at time: Timestamp, chains: ChainVerifier) throws(ProofFailure) {
        let outlines = try certificateOutlines()
        guard let leaf = leaf(of: signer, among: outlines) else { throw .forged(.signerCertificateMissing) }
        let chain = try chains.verify(leaf, candidates: outlines)
        try chain.check(at: time)
        guard signer.issuerAndSerialNumber != nil else { throw .notProvable(.signerIdentifier) }
        guard case .rsa(let key) = chain.key, let digest = MessageDigest(identifier: signer.digestAlgorithm),
            digest.isUsed(bySignature: signer.signatureAlgorithm)
        else { throw .notProvable(.unknownAlgorithm) }

        let signed = try signedOctets(signer, digest: digest)
        let signature = _RSA.Signing.RSASignature(rawRepresentation: signer.signature)
        let isValid =
            switch digest {
            case .sha1:
                key.isValidSignature(signature, for: Insecure.SHA1.hash(data: signed), padding: .insecurePKCS1v1_5)
            case .sha256:
                key.isValidSignature(signature, for: SHA256.hash(data: signed), padding: .insecurePKCS1v1_5)
            }
        guard isValid else { throw .forged(.signature) }
        if let doubt = chain.doubt { throw .notProvable(doubt) }
        if chain.missingMarker != nil { throw .notProvable(.marker) }
        guard certificates.count <= Self.maximumCertificates else { throw .notProvable(.tooManyCertificates) }
        guard signers.count == 1 else { throw .notProvable(.tooManySigners) }
        // Apple refuses its own receipt if somebody has added parts to it. A proven receipt waits until Apple accepts
        // it, and there is no limit on proven receipts that wait. So a receipt with foreign parts must not count as
        // proven.
        if hasForeignParts || signer.hasForeignParts { throw .notProvable(.foreignParts) }
        let isOfChain = { (certificate: CertificateOutline) in
            ChainKey.areEqual(certificate.bytes, leaf.bytes) || chains.trusts(certificate)
                || (try? chains.verify(leaf, candidates: [certificate])) != nil
        }
        guard outlines.allSatisfy(isOfChain) else { throw .notProvable(.foreignCertificate) }
    }

    /// Returns the signer's own certificate. If a key identifier names the signer, returns the certificate that issued
    /// no other certificate of the message.
    private func leaf(of signer: MessageSigner, among outlines: [CertificateOutline]) -> CertificateOutline? {
        if let name = signer.issuerAndSerialNumber {
            return outlines.first { $0.issuer == name.issuer && $0.serialNumber == name.serialNumber }
        }
        return outlines.first { outline in outlines.allSatisfy { $0.issuer != outline.subject } }
    }

    private func certificateOutlines() throws(ProofFailure) -> [CertificateOutline] {
        var outlines: [CertificateOutline] = []
        outlines.reserveCapacity(certificates.count)
        for element in certificates {
            do throws(BERFault) {
                outlines.append(try CertificateOutline(bytes, in: element.whole))
            } catch {
                throw .forged(.unreadableCertificate)
            }
        }
        return outlines
    }

    /// Returns the bytes that the signature covers: the content, or the attributes that have the content's digest.
    private func signedOctets(_ signer: MessageSigner, digest: MessageDigest) throws(ProofFailure) -> [UInt8] {
        guard let element = signer.signedAttributes else { return content }
        guard let attributes = try? SignedAttributes(element, in: bytes),
            let signedDigest = attributes.messageDigest,
            attributes.contentType?.elementsEqual(EncodedOID.data) == true
        else { throw .forged(.contentDigest) }
        guard signedDigest.elementsEqual(digest.hash(content)) else { throw .forged(.contentDigest) }
        return attributes.encoded
    }
}
