import Encodings

/// Finds the likely fault of an unreadable proof.
public enum MalformedProof {
    /// Returns the likely cause.
    /// - Parameter reading: the cause with which the parser refused the proof; nil if the parser did not get the proof.
    public static func cause(of proof: Submission.Proof, reading: Cause? = nil) -> Cause {
        switch proof {
        case .receipt(let text): shownBy(text) ?? causeOfReceipt(text) ?? reading ?? .notAReceipt()
        case .signedTransaction(let text): shownBy(text) ?? causeOfJWS(text) ?? reading ?? .notAJWS()
        case .transactionID: reading ?? Reason.malformedReceipt.cause
        }
    }

    /// Returns the cause that the text shows, for a proof of any kind; nil if the text shows none.
    private static func shownBy(_ text: String) -> Cause? {
        let bytes = text.utf8
        if bytes.starts(with: "data:".utf8) { return .dataURL }
        if let first = bytes.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
            return causeOfJSON(text)
        }
        if text.contains(".AO-J") { return .googlePlay }
        if isHex(bytes) { return .hex }
        return nil
    }

    /// Returns the cause for JSON text. Google's `Purchase` has a `purchaseToken`.
    private static func causeOfJSON(_ text: String) -> Cause {
        text.contains("\"purchaseToken\"") ? .googlePlay : .jsonText
    }

    private static func causeOfReceipt(_ text: String) -> Cause? {
        let bytes = text.utf8
        guard let decoded = Base64.decode(bytes) else { return causeOfNoBase64(bytes) }
        if decoded.starts(with: "MII".utf8) || decoded.starts(with: "eyJ".utf8) { return .base64Twice }
        if decoded.first == UInt8(ascii: "{"), (try? JSONParser.parse(decoded)) != nil {
            return causeOfJSON(String(decoding: decoded, as: UTF8.self))
        }
        if isCutShort(decoded) { return bytes.contains(UInt8(ascii: " ")) ? .blanksForPlus : .truncated }
        return nil
    }

    private static func causeOfNoBase64(_ bytes: String.UTF8View) -> Cause {
        if bytes.contains(UInt8(ascii: "%")) { return .percentEncoded }
        if bytes.contains(UInt8(ascii: "\\")) { return .escapedLineEnds }
        // If all characters are of base64's alphabet, only the length is wrong.
        let hasOnlyDigits = bytes.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D, 0x2F, 0x5F, 0x3D, 0x20, 0x09...0x0D: true
            default: false
            }
        }
        guard hasOnlyDigits else { return .notBase64 }
        return bytes.contains(UInt8(ascii: " ")) ? .blanksForPlus : .truncated
    }

    private static func causeOfJWS(_ text: String) -> Cause? {
        if text.utf8.contains(UInt8(ascii: "%")) { return .percentEncoded }
        if text.utf8.contains(UInt8(ascii: "\\")) { return .escapedLineEnds }
        let points = text.utf8.reduce(0) { $0 + ($1 == UInt8(ascii: ".") ? 1 : 0) }
        return text.utf8.starts(with: "ey".utf8) && points != 2 ? .jwsParts : nil
    }

    /// Returns whether the text is hexadecimal. Base64 text of at least 32 characters also has characters that are not
    /// hexadecimal digits.
    private static func isHex(_ bytes: String.UTF8View) -> Bool {
        bytes.count >= 32 && bytes.allSatisfy { HexDigit.value(of: $0) != nil }
    }

    /// Returns whether the outer length in ASN.1 is greater than the number of bytes (X.690, 8.1.3).
    private static func isCutShort(_ bytes: [UInt8]) -> Bool {
        guard bytes.first == 0x30 else { return false }
        guard bytes.count > 1 else { return true }
        let first = Int(bytes[1])
        guard first > 0x80 else { return first < 0x80 && bytes.count < 2 + first }
        let octets = first & 0x7F
        guard octets <= 4 else { return false }
        guard bytes.count >= 2 + octets else { return true }
        let length = bytes[2..<2 + octets].reduce(0) { $0 << 8 | Int($1) }
        return bytes.count < 2 + octets + length
    }
}
