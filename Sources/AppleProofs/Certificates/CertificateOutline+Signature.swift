import Crypto
import CryptoExtras
import X509

extension CertificateOutline {
    enum SignatureCheck {
        case valid
        case invalid
        case unknownAlgorithm
    }

    /// Returns whether the owner of `key` signed the certificate. Computes only with `key`, never with the
    /// certificate's own key.
    func signature(by key: Certificate.PublicKey) -> SignatureCheck {
        guard let algorithm = SignatureAlgorithm(identifier: signatureAlgorithm) else { return .unknownAlgorithm }
        let isValid =
            switch algorithm {
            case .rsa(let hash): _RSA.Signing.PublicKey(key).map { isSigned(by: $0, hash) }
            case .ecdsa(let hash):
                P256.Signing.PublicKey(key).map { isSigned(by: $0, hash) }
                    ?? P384.Signing.PublicKey(key).map { isSigned(by: $0, hash) }
            }
        return isValid == true ? .valid : .invalid
    }

    private func isSigned(by key: _RSA.Signing.PublicKey, _ hash: SignatureAlgorithm.Hash) -> Bool {
        let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
        func isValid(_ digest: some Digest) -> Bool {
            key.isValidSignature(signature, for: digest, padding: .insecurePKCS1v1_5)
        }
        switch hash {
        case .sha1: return isValid(Insecure.SHA1.hash(data: signedOctets))
        case .sha256: return isValid(SHA256.hash(data: signedOctets))
        case .sha384: return isValid(SHA384.hash(data: signedOctets))
        case .sha512: return isValid(SHA512.hash(data: signedOctets))
        }
    }

    private func isSigned(by key: P256.Signing.PublicKey, _ hash: SignatureAlgorithm.Hash) -> Bool {
        guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature) else { return false }
        switch hash {
        case .sha1: return false
        case .sha256: return key.isValidSignature(signature, for: SHA256.hash(data: signedOctets))
        case .sha384: return key.isValidSignature(signature, for: SHA384.hash(data: signedOctets))
        case .sha512: return key.isValidSignature(signature, for: SHA512.hash(data: signedOctets))
        }
    }

    private func isSigned(by key: P384.Signing.PublicKey, _ hash: SignatureAlgorithm.Hash) -> Bool {
        guard let signature = try? P384.Signing.ECDSASignature(derRepresentation: signature) else { return false }
        switch hash {
        case .sha1: return false
        case .sha256: return key.isValidSignature(signature, for: SHA256.hash(data: signedOctets))
        case .sha384: return key.isValidSignature(signature, for: SHA384.hash(data: signedOctets))
        case .sha512: return key.isValidSignature(signature, for: SHA512.hash(data: signedOctets))
        }
    }
}

/// The signature algorithms of certificates. Until 2023, Apple's authorities had signatures with SHA-1 and RSA.
private enum SignatureAlgorithm {
    case rsa(Hash)
    case ecdsa(Hash)

    enum Hash {
        case sha1
        case sha256
        case sha384
        case sha512
    }

    init?(identifier: ArraySlice<UInt8>) {
        let known: [([UInt8], SignatureAlgorithm)] = [
            (EncodedOID.sha256WithRSA, .rsa(.sha256)), (EncodedOID.sha384WithRSA, .rsa(.sha384)),
            (EncodedOID.sha512WithRSA, .rsa(.sha512)), (EncodedOID.sha1WithRSA, .rsa(.sha1)),
            (EncodedOID.ecdsaWithSHA256, .ecdsa(.sha256)), (EncodedOID.ecdsaWithSHA384, .ecdsa(.sha384)),
            (EncodedOID.ecdsaWithSHA512, .ecdsa(.sha512)),
        ]
        guard let match = known.first(where: { identifier.elementsEqual($0.0) }) else { return nil }
        self = match.1
    }
}
