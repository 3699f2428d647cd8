/// The state of a proof's signature, found without asking Apple. `ParsedProof.Signature` describes the consequences.
public enum LocalSignature: Sendable, Equatable {
    case proven
    case forged(Forgery)
    case notProvable(Doubt)
}

/// The reason why a signature is not Apple's.
public enum Forgery: String, Error, Sendable, CaseIterable {
    case signerCertificateMissing = "the signer's certificate is missing"
    case intermediateMissing = "the certificate of the signer's issuer is missing"
    case chainLength = "the chain is not exactly three certificates"
    case unreadableCertificate = "a certificate in the proof cannot be read"
    case unknownRoot = "the chain does not end in a known root"
    case brokenChain = "the signer's certificate is not signed by its issuer"
    case leafMarker = "the signer's certificate lacks Apple's marker"
    case intermediateMarker = "the issuer's certificate lacks Apple's marker"
    case leafUsage = "the signer's certificate is not for signing"
    case intermediateUsage = "the issuer's certificate is not a certificate authority's"
    case notValidThen = "a certificate was not valid at the time of signing"
    case contentDigest = "the signed digest is not the content's"
    case signature = "the signature does not match the signed bytes"
    case algorithm = "the algorithm is not ES256"
    case criticalHeader = "the header demands an extension"
    case chainMissing = "the header has no chain"
    case signedDateMissing = "the time of signing is missing"
    case localEnvironment = "signed by a development machine"
}

/// The reason why a signature is neither proven nor forged. The signature may be genuine, but receiptd cannot check it.
public enum Doubt: String, Error, Sendable, CaseIterable {
    case unknownAlgorithm = "an algorithm that is not known here"
    case keySize = "a key of a size that is not checked here"
    case certificateSize = "a certificate of a size that is not checked here"
    case tooManyCertificates = "more certificates than are checked here"
    case tooManySigners = "more than one signer"
    case foreignParts = "a part that Apple's receipts lack and that no signature covers"
    case foreignCertificate = "a certificate that is not part of the chain"
    case signerIdentifier = "a signer named by a key identifier"
    case criticalExtension = "a critical extension that is not known here"
    case marker = "a valid chain to a known root, but a certificate lacks Apple's marker"
    case unsupportedCertificate = "a certificate that cannot be read here"
    case transactionSignature = "an iOS 6 signature that cannot be proven here"
    case notLookedAt = "a signature that was not looked at"
}

enum ProofFailure: Error, Equatable {
    case forged(Forgery)
    case notProvable(Doubt)

    var signature: LocalSignature {
        switch self {
        case .forged(let forgery): .forged(forgery)
        case .notProvable(let doubt): .notProvable(doubt)
        }
    }
}
