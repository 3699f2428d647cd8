/// The attributes that a CMS signature may cover in place of the content (RFC 5652, section 5.4). Apple's receipts have
/// no signed attributes. The messages of other software always have them.
struct SignedAttributes {
    /// The signed bytes: the attributes as a DER SET OF, even if the message encodes them in another way.
    let encoded: [UInt8]
    let contentType: ArraySlice<UInt8>?
    let messageDigest: ArraySlice<UInt8>?

    static let maximumCount = 32

    init(_ element: BERElement, in bytes: [UInt8]) throws(BERFault) {
        var contentType: ArraySlice<UInt8>?
        var messageDigest: ArraySlice<UInt8>?
        var attributes: [ArraySlice<UInt8>] = []
        var reader = BERReader(bytes, inside: element)
        while let attribute = try reader.next() {
            guard attribute.tag == BERTag.sequence, attributes.count < Self.maximumCount else {
                throw .unexpectedElement
            }
            attributes.append(bytes[attribute.whole])
            var parts = BERReader(bytes, inside: attribute)
            let identifier = bytes[try parts.next(BERTag.objectIdentifier).content]
            var values = BERReader(bytes, inside: try parts.next(BERTag.set))
            guard let value = try values.next() else { throw .truncated }
            // An attribute is ambiguous if it comes twice or has two values.
            if identifier.elementsEqual(EncodedOID.contentType) {
                guard contentType == nil, values.isAtEnd else { throw .unexpectedElement }
                contentType = bytes[value.content]
            } else if identifier.elementsEqual(EncodedOID.messageDigest) {
                guard messageDigest == nil, values.isAtEnd else { throw .unexpectedElement }
                messageDigest = bytes[value.content]
            }
        }
        self.contentType = contentType
        self.messageDigest = messageDigest
        encoded = Self.set(of: attributes.sorted { $0.lexicographicallyPrecedes($1) })
    }

    private static func set(of elements: [ArraySlice<UInt8>]) -> [UInt8] {
        let length = elements.reduce(0) { $0 + $1.count }
        var lengthOctets: [UInt8] = []
        var rest = length
        while rest > 0 {
            lengthOctets.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        var encoded = [BERTag.set]
        if length < 0x80 {
            encoded.append(UInt8(truncatingIfNeeded: length))
        } else {
            encoded.append(0x80 | UInt8(truncatingIfNeeded: lengthOctets.count))
            encoded.append(contentsOf: lengthOctets)
        }
        for element in elements { encoded.append(contentsOf: element) }
        return encoded
    }
}
