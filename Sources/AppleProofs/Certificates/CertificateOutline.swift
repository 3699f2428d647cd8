/// The parts of a certificate that receiptd reads before it computes with any value of the certificate: the issuer, the
/// signed octets, and the size of the key.
///
/// The initializer checks sizes, so that a hostile key never reaches public-key arithmetic. An unusable key counts as a
/// doubt only after the check of the issuer's signature. Before that check, anybody may have made the certificate.
struct CertificateOutline {
    /// The most bytes of a certificate. Apple's certificates have 1 to 1.5 kB.
    static let maximumSize = 16 * 1024
    /// The bits of an RSA modulus. A 1024-bit key, as in iOS 6 receipts before 2015, is too weak to prove a receipt.
    static let rsaKeySizes = 2048...4096
    static let maximumExponentSize = 8

    let bytes: ArraySlice<UInt8>
    /// The names and the serial number as encoded. receiptd compares them byte by byte.
    let issuer: ArraySlice<UInt8>
    let subject: ArraySlice<UInt8>
    let serialNumber: ArraySlice<UInt8>
    /// The bytes that the issuer signed, the identifier of the signature's algorithm, and the signature.
    let signedOctets: ArraySlice<UInt8>
    let signatureAlgorithm: ArraySlice<UInt8>
    let signature: ArraySlice<UInt8>
    /// The reason why receiptd does not compute with the certificate's key; nil if there is none.
    let doubt: Doubt?

    /// Throws if the bytes are not a certificate.
    init(_ bytes: [UInt8]) throws(BERFault) {
        try self.init(bytes, in: 0..<bytes.count)
    }

    init(_ bytes: [UInt8], in range: Range<Int>) throws(BERFault) {
        self.bytes = bytes[range]
        var outer = BERReader(bytes, in: range)
        var certificate = BERReader(bytes, inside: try outer.next(BERTag.sequence))
        guard outer.isAtEnd else { throw .unexpectedElement }
        let signed = try certificate.next(BERTag.sequence)
        signedOctets = bytes[signed.whole]
        var body = BERReader(bytes, inside: signed)
        _ = try body.next(ifTagged: BERTag.context0)
        serialNumber = bytes[try body.next(BERTag.integer).content]
        _ = try body.next(BERTag.sequence)
        issuer = bytes[try body.next(BERTag.sequence).whole]
        _ = try body.next(BERTag.sequence)
        subject = bytes[try body.next(BERTag.sequence).whole]
        let key = try body.next(BERTag.sequence)
        var algorithm = BERReader(bytes, inside: try certificate.next(BERTag.sequence))
        signatureAlgorithm = bytes[try algorithm.next(BERTag.objectIdentifier).content]
        let signature = try certificate.next(BERTag.bitString)
        // The first octet counts unused bits, and a signature has no unused bits.
        guard certificate.isAtEnd, bytes[signature.content].first == 0 else { throw .unexpectedElement }
        self.signature = bytes[signature.content].dropFirst()
        doubt = range.count > Self.maximumSize ? .certificateSize : try Self.doubt(about: key, in: bytes)
    }

    var isSelfIssued: Bool { issuer == subject }

    private static func doubt(about key: BERElement, in bytes: [UInt8]) throws(BERFault) -> Doubt? {
        var reader = BERReader(bytes, inside: key)
        var algorithm = BERReader(bytes, inside: try reader.next(BERTag.sequence))
        let identifier = bytes[try algorithm.next(BERTag.objectIdentifier).content]
        let encodedKey = try reader.next(BERTag.bitString)
        if identifier.elementsEqual(EncodedOID.rsaEncryption) {
            return try doubtAboutRSA(encodedKey, in: bytes)
        }
        guard identifier.elementsEqual(EncodedOID.ellipticCurveKey),
            let curve = try algorithm.next(ifTagged: BERTag.objectIdentifier)
        else { return .unknownAlgorithm }
        // One octet counts the unused bits, one says "uncompressed", and the two coordinates follow.
        if bytes[curve.content].elementsEqual(EncodedOID.p256) {
            return encodedKey.content.count == 66 ? nil : .keySize
        }
        if bytes[curve.content].elementsEqual(EncodedOID.p384) {
            return encodedKey.content.count == 98 ? nil : .keySize
        }
        return .unknownAlgorithm
    }

    private static func doubtAboutRSA(_ encodedKey: BERElement, in bytes: [UInt8]) throws(BERFault) -> Doubt? {
        guard encodedKey.content.count > 1 else { throw .truncated }
        let inner = BERElement(
            tag: encodedKey.tag, start: encodedKey.start,
            content: encodedKey.content.dropFirst(), end: encodedKey.end)
        var reader = BERReader(bytes, inside: inner)
        var numbers = BERReader(bytes, inside: try reader.next(BERTag.sequence))
        let modulus = bytes[try numbers.next(BERTag.integer).content].drop { $0 == 0 }
        let exponent = try numbers.next(BERTag.integer)
        let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        return rsaKeySizes.contains(bits) && exponent.content.count <= maximumExponentSize ? nil : .keySize
    }
}
