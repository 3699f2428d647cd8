import Encodings
import Fulfillment

/// The three segments of a JWS in its compact form (RFC 7515), decoded but not verified.
struct CompactJWS {
    let header: JSONValue
    let payload: JSONValue
    let signature: [UInt8]
    /// The header and payload as they were sent.
    let signedOctets: ArraySlice<UInt8>

    enum Fault: String, Error {
        case segments = "not three segments"
        case encoding = "a segment is not base64url"
        case header = "the header is not a JSON object"
        case payload = "the payload is not a JSON object"
    }

    /// Accepts an empty signature, so that a sender of `alg: none` learns that the JWS is forged, not that the text is
    /// not a JWS.
    init(_ text: String) throws(Fault) {
        let bytes = Array(text.utf8)
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
        guard let start = bytes.firstIndex(where: { !isBlank($0) }), let last = bytes.lastIndex(where: { !isBlank($0) })
        else { throw .segments }
        let token = bytes[start...last]
        let segments = token.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard segments.count == 3, !segments[0].isEmpty, !segments[1].isEmpty else { throw .segments }
        guard token.allSatisfy(Self.isTokenCharacter), let header = Base64.decode(segments[0]),
            let payload = Base64.decode(segments[1]), let signature = Base64.decode(segments[2])
        else { throw .encoding }
        guard let document = try? JSONParser.parse(header), case .object = document.value else { throw .header }
        self.header = document.value
        guard let document = try? JSONParser.parse(payload), case .object = document.value else { throw .payload }
        self.payload = document.value
        self.signature = signature
        signedOctets = token[segments[0].startIndex..<segments[1].endIndex]
    }

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
        default: false
        }
    }
}
