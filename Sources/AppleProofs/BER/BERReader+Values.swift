extension BERReader {
    /// Returns the value of an INTEGER; nil if the INTEGER is longer than 8 bytes.
    static func integer(_ element: BERElement, in bytes: [UInt8]) -> Int64? {
        guard element.tag == BERTag.integer, (1...8).contains(element.content.count) else { return nil }
        var value: Int64 = bytes[element.content.lowerBound] & 0x80 == 0 ? 0 : -1
        for index in element.content { value = value << 8 | Int64(bytes[index]) }
        return value
    }

    /// Returns the text of a UTF8String or IA5String; nil for any other element, for bytes that are not UTF-8, and for
    /// text with a NUL.
    static func string(_ element: BERElement, in bytes: [UInt8]) -> String? {
        guard element.tag == BERTag.utf8String || element.tag == BERTag.ia5String else { return nil }
        return bytes[element.content].withUnsafeBufferPointer { content in
            content.contains(0) ? nil : String(validating: content, as: UTF8.self)
        }
    }

    /// Returns the octets of an OCTET STRING. In BER, an OCTET STRING may consist of segments that are OCTET STRINGs
    /// too.
    static func octets(_ element: BERElement, in bytes: [UInt8]) throws(BERFault) -> [UInt8] {
        if element.tag == BERTag.octetString { return Array(bytes[element.content]) }
        var octets: [UInt8] = []
        try appendSegments(of: element, in: bytes, to: &octets, depth: 0)
        return octets
    }

    private static func appendSegments(
        of element: BERElement, in bytes: [UInt8], to octets: inout [UInt8], depth: Int
    ) throws(BERFault) {
        guard element.tag == BERTag.constructedOctetString else { throw .unexpectedElement }
        guard depth < maximumSegmentDepth else { throw .tooDeep }
        var reader = BERReader(bytes, inside: element)
        while let segment = try reader.next() {
            if segment.tag == BERTag.octetString {
                octets.append(contentsOf: bytes[segment.content])
            } else {
                try appendSegments(of: segment, in: bytes, to: &octets, depth: depth + 1)
            }
        }
    }
}

/// Object identifiers, as the content octets in DER.
package enum EncodedOID {
    /// 1.2.840.113549.1.7.1 and .2.
    package static let data: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]
    package static let signedData: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
    /// 1.2.840.113549.1.9.3 and .4.
    static let contentType: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x03]
    static let messageDigest: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x04]
    /// 1.2.840.113549.1.1.1, .5, .11, .12 and .13.
    package static let rsaEncryption: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
    static let sha1WithRSA: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x05]
    static let sha256WithRSA: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0B]
    static let sha384WithRSA: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0C]
    static let sha512WithRSA: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0D]
    /// 1.2.840.10045.4.3.2, .3 and .4.
    static let ecdsaWithSHA256: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]
    static let ecdsaWithSHA384: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x03]
    static let ecdsaWithSHA512: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x04]
    /// 1.3.14.3.2.26.
    static let sha1: [UInt8] = [0x2B, 0x0E, 0x03, 0x02, 0x1A]
    /// 2.16.840.1.101.3.4.2.1.
    package static let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]
    /// 1.2.840.10045.2.1, 1.2.840.10045.3.1.7 and 1.3.132.0.34.
    static let ellipticCurveKey: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    static let p256: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
    static let p384: [UInt8] = [0x2B, 0x81, 0x04, 0x00, 0x22]
}
