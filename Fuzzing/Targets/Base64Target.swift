import Encodings
import Foundation
import Fulfillment

extension FuzzTarget {
    /// `receipt_data`, and the segments and certificates of a JWS.
    static let base64 = FuzzTarget(
        name: "base64",
        seeds: {
            [
                "", "QQ==", "QUI=", "QUJD", "QUJD\r\nREVG", "-_-_", "+/+/", "QQ", "QUI", "Q Q = =", "A", "====",
                "QQ==QQ==",
            ]
            .map { Array($0.utf8) }
        },
        check: { bytes in
            let encoded = Base64.encode(bytes)
            mustHold(encoded == Data(bytes).base64EncodedString(), "encodes as Foundation does")
            mustHold(Base64.decode(encoded.utf8) == bytes, "what was encoded decodes to itself")
            let ours = Base64.decode(bytes)
            let theirs = foundation(bytes)
            mustHold(ours == theirs, "decodes what Foundation decodes, and to the same bytes")
        },
        read: { _ = Base64.decode($0) },
        families: [
            .repeating("A"), .repeating("A "), .repeating("="), .repeating(" "), .repeating("QQ=="),
            .repeating("QUJD\n"),
        ],
        words: ["==", "=", "\r\n", "-_", "+/"])

    /// Returns Foundation's result for the text without the extensions that only our decoder accepts: white space, the
    /// URL alphabet and missing padding. Existing padding must complete the last group; Foundation does not check this.
    private static func foundation(_ bytes: [UInt8]) -> [UInt8]? {
        var text = bytes.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        for index in text.indices {
            if text[index] == UInt8(ascii: "-") { text[index] = UInt8(ascii: "+") }
            if text[index] == UInt8(ascii: "_") { text[index] = UInt8(ascii: "/") }
        }
        let padding = text.count { $0 == UInt8(ascii: "=") }
        let lacking = (4 - (text.count - padding) % 4) % 4
        // A last group of a single digit encodes no byte.
        guard lacking < 3, padding == 0 || padding == lacking,
            text.suffix(padding).allSatisfy({ $0 == UInt8(ascii: "=") })
        else { return nil }
        text += [UInt8](repeating: UInt8(ascii: "="), count: padding == 0 ? lacking : 0)
        return Data(base64Encoded: Data(text)).map { Array($0) }
    }
}
