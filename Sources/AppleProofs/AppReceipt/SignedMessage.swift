/// The parts of a PKCS #7 SignedData message with embedded content, not verified.
struct SignedMessage {
    let bytes: [UInt8]
    /// The signed octets, which are an app receipt's payload.
    let content: [UInt8]
    let certificates: [BERElement]
    let signers: [BERElement]
    /// True if the message has a part that no receipt of Apple's has and that no signature covers. Examples are CRLs
    /// and elements after the signers. With such parts, anybody can make many different messages from one receipt.
    let hasForeignParts: Bool

    /// Throws if the bytes are not a SignedData message, or if its content is not embedded.
    init(_ bytes: [UInt8]) throws(BERFault) {
        self.bytes = bytes
        var outer = BERReader(bytes)
        var message = BERReader(bytes, inside: try outer.next(BERTag.sequence))
        guard outer.isAtEnd,
            bytes[try message.next(BERTag.objectIdentifier).content].elementsEqual(EncodedOID.signedData)
        else { throw .unexpectedElement }
        var wrapped = BERReader(bytes, inside: try message.next(BERTag.context0))
        var signedData = BERReader(bytes, inside: try wrapped.next(BERTag.sequence))
        let version = try signedData.next(BERTag.integer)
        let digests = try signedData.next(BERTag.set)
        let isContentAlone: Bool
        (content, isContentAlone) = try Self.content(of: try signedData.next(BERTag.sequence), in: bytes)

        var certificates: [BERElement] = []
        if let bag = try signedData.next(ifTagged: BERTag.context0) {
            var reader = BERReader(bytes, inside: bag)
            certificates.reserveCapacity(SignedMessage.usualCertificates)
            while certificates.count < SignedMessage.lookedAtCertificates, let certificate = try reader.next() {
                certificates.append(certificate)
            }
        }
        self.certificates = certificates
        let revocations = try signedData.next(ifTagged: BERTag.context1)

        var signers: [BERElement] = []
        var reader = BERReader(bytes, inside: try signedData.next(BERTag.set))
        while signers.count < 2, let signer = try reader.next() { signers.append(signer) }
        self.signers = signers
        hasForeignParts =
            revocations != nil || !isContentAlone || !Self.isOneAlgorithm(digests, in: bytes)
            || !bytes[version.content].elementsEqual([1])
            || !(message.isAtEnd && wrapped.isAtEnd && signedData.isAtEnd)
    }

    private static let usualCertificates = 3
    /// The most certificates of a message that receiptd can prove.
    static let maximumCertificates = 5
    /// The most certificates among which receiptd searches the signer's chain. Each certificate may cost a check of a
    /// signature.
    static let lookedAtCertificates = 8

    /// Returns the octets, and whether the element has nothing else.
    private static func content(of element: BERElement, in bytes: [UInt8]) throws(BERFault) -> ([UInt8], Bool) {
        var reader = BERReader(bytes, inside: element)
        guard bytes[try reader.next(BERTag.objectIdentifier).content].elementsEqual(EncodedOID.data) else {
            throw .unexpectedElement
        }
        var wrapped = BERReader(bytes, inside: try reader.next(BERTag.context0))
        guard let octets = try wrapped.next() else { throw .truncated }
        return (try BERReader.octets(octets, in: bytes), wrapped.isAtEnd && reader.isAtEnd)
    }

    /// Returns whether the set of the digest algorithms has exactly one algorithm, without parameters.
    private static func isOneAlgorithm(_ set: BERElement, in bytes: [UInt8]) -> Bool {
        var reader = BERReader(bytes, inside: set)
        guard let element = try? reader.next(BERTag.sequence), reader.isAtEnd,
            let algorithm = try? MessageAlgorithm(element, in: bytes)
        else { return false }
        return !algorithm.hasParameters && MessageDigest(identifier: algorithm.identifier) != nil
    }
}
