import Crypto

/// One SignerInfo of a signed message: the signer, the algorithm and the signature.
struct MessageSigner {
    /// The name and serial number of the signer's certificate, as encoded; nil if the message names the signer by a key
    /// identifier.
    let issuerAndSerialNumber: (issuer: ArraySlice<UInt8>, serialNumber: ArraySlice<UInt8>)?
    let digestAlgorithm: ArraySlice<UInt8>
    let signedAttributes: BERElement?
    let signatureAlgorithm: ArraySlice<UInt8>
    let signature: ArraySlice<UInt8>
    /// True if the signer has a part that no receipt of Apple's has and that no signature covers. Examples are unsigned
    /// attributes, which come after the signature.
    let hasForeignParts: Bool

    init(_ element: BERElement, in bytes: [UInt8]) throws(BERFault) {
        guard element.tag == BERTag.sequence else { throw .unexpectedElement }
        var reader = BERReader(bytes, inside: element)
        let version = try reader.next(BERTag.integer)
        guard let identifier = try reader.next() else { throw .truncated }
        var isNameAlone = true
        if identifier.tag == BERTag.sequence {
            var names = BERReader(bytes, inside: identifier)
            let issuer = bytes[try names.next(BERTag.sequence).whole]
            issuerAndSerialNumber = (issuer, bytes[try names.next(BERTag.integer).content])
            isNameAlone = names.isAtEnd
        } else {
            issuerAndSerialNumber = nil
        }
        let digest = try MessageAlgorithm(try reader.next(BERTag.sequence), in: bytes)
        digestAlgorithm = digest.identifier
        signedAttributes = try reader.next(ifTagged: BERTag.context0)
        let algorithm = try MessageAlgorithm(try reader.next(BERTag.sequence), in: bytes)
        signatureAlgorithm = algorithm.identifier
        signature = bytes[try reader.next(BERTag.octetString).content]
        hasForeignParts =
            !reader.isAtEnd || !isNameAlone || digest.hasParameters || algorithm.hasParameters
            || !bytes[version.content].elementsEqual([1])
    }
}

/// An AlgorithmIdentifier of a signed message.
struct MessageAlgorithm {
    let identifier: ArraySlice<UInt8>
    /// True if the algorithm has parameters other than NULL. Apple's algorithms have none.
    let hasParameters: Bool

    init(_ element: BERElement, in bytes: [UInt8]) throws(BERFault) {
        var reader = BERReader(bytes, inside: element)
        identifier = bytes[try reader.next(BERTag.objectIdentifier).content]
        let rest = bytes[identifier.endIndex..<element.content.upperBound]
        hasParameters = !rest.isEmpty && !rest.elementsEqual([BERTag.null, 0])
    }
}

/// The digests of Apple's receipts. Between 2023 and 2025 Apple changed from SHA-1 to SHA-256.
enum MessageDigest {
    case sha1
    case sha256

    init?(identifier: some Sequence<UInt8>) {
        if identifier.elementsEqual(EncodedOID.sha1) {
            self = .sha1
        } else if identifier.elementsEqual(EncodedOID.sha256) {
            self = .sha256
        } else {
            return nil
        }
    }

    /// Returns whether the signature algorithm `identifier` may be used with this digest.
    func isUsed(bySignature identifier: some Sequence<UInt8>) -> Bool {
        if identifier.elementsEqual(EncodedOID.rsaEncryption) { return true }
        switch self {
        case .sha1: return identifier.elementsEqual(EncodedOID.sha1WithRSA)
        case .sha256: return identifier.elementsEqual(EncodedOID.sha256WithRSA)
        }
    }

    func hash(_ bytes: [UInt8]) -> [UInt8] {
        switch self {
        case .sha1: Insecure.SHA1.hash(data: bytes).withUnsafeBytes { Array($0) }
        case .sha256: SHA256.hash(data: bytes).withUnsafeBytes { Array($0) }
        }
    }
}
