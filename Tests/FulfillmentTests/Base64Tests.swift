import Encodings
import Foundation
import TestSupport
import Testing

@testable import Encodings
@testable import Fulfillment

@Suite("Base64 encoding and decoding")
struct Base64Tests {
    private func decode(_ text: String) -> [UInt8]? { Base64.decode(text.utf8) }

    @Test("the base64 codec encodes and decodes 0 to 300 bytes as Foundation does")
    func againstFoundation() {
        var random = SeededRandom(seed: 1)
        for count in 0...300 {
            let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            let text = Data(bytes).base64EncodedString()
            #expect(Base64.encode(bytes) == text, "\(count) bytes")
            #expect(decode(text) == bytes, "\(count) bytes")
            let unpadded = String(text.prefix { $0 != "=" })
            #expect(decode(unpadded) == bytes, "\(count) bytes, unpadded")
            let url = unpadded.replacing("+", with: "-").replacing("/", with: "_")
            #expect(decode(url) == bytes, "\(count) bytes, URL alphabet")
            for options: Data.Base64EncodingOptions in [.lineLength64Characters, .lineLength76Characters] {
                #expect(decode(Data(bytes).base64EncodedString(options: options)) == bytes, "\(count) bytes, lines")
            }
            let scattered = text.map { random.chance(20) ? "\(random.pick([" ", "\n", "\r", "\t"]))\($0)" : "\($0)" }
            #expect(decode(scattered.joined()) == bytes, "\(count) bytes, white space")
            // The decoder gives the same result for a collection that is not contiguous.
            #expect(Base64.decode(text.utf8.reversed().reversed() as [UInt8]) == bytes)
            #expect(Base64.decode(text.utf8.lazy.map { $0 }) == bytes)
        }
    }

    static let accepted: [(String, [UInt8])] = [
        ("", []), (" \r\n\t", []), ("AA", [0]), ("AA==", [0]), ("A A = =\n", [0]), ("AAA", [0, 0]), ("AAA=", [0, 0]),
        ("+/+/", [0xFB, 0xFF, 0xBF]), ("-_-_", [0xFB, 0xFF, 0xBF]), ("+_-/", [0xFB, 0xFF, 0xBF]), ("/w", [0xFF]),
    ]

    @Test(
        "the base64 decoder accepts the standard or the URL alphabet, padded or unpadded, with white space anywhere",
        arguments: accepted)
    func accepts(text: String, bytes: [UInt8]) {
        #expect(decode(text) == bytes)
    }

    @Test(
        "the base64 decoder refuses a foreign character, wrong padding and an impossible length",
        arguments: [
            "A", "AAAAA", "=", "==", "====", "AA=", "AA===", "AAA==", "AAAA=", "AAAA==", "AA==AA", "AA=A", "A=AA",
            "=AAA",
            "AAA=A", "AA==\0", "AA!=", "AA.A", "AA,A", "AA*A", "é", "AAA\u{0B}", "AAAé", "\u{FEFF}AAAA", "%41AA",
            "AA\\nAA",
        ])
    func refuses(text: String) {
        #expect(decode(text) == nil)
    }

    @Test("the base64 decoder accepts only base64 digits, white space, and padding at the end")
    func everyByte() {
        let digits = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_".utf8)
        let blanks: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]
        for byte in UInt8.min ... .max {
            for place in 0..<8 {
                var text = Array("QUJDREVG".utf8)
                text[place] = byte
                let isAccepted =
                    digits.contains(byte) || blanks.contains(byte) || (byte == UInt8(ascii: "=") && place == 7)
                #expect((Base64.decode(text) != nil) == isAccepted, "byte \(byte) at \(place)")
            }
        }
    }

    @Test("`Base64.standard` rewrites a base64 text to the standard form, and leaves a text in this form unchanged")
    func standardForm() throws {
        for text in ["QUJD", "QUI=", "QQ==", "+/+/", ""] {
            #expect(Base64.standard(text, decoded: try #require(decode(text))) == text)
        }
        for (text, standard) in [
            ("QU JD", "QUJD"), ("QUI", "QUI="), ("QQ", "QQ=="), ("-_-_", "+/+/"), ("QU\nI=", "QUI="),
            // The last digits of these texts have bits that decode to nothing.
            ("QUJ=", "QUI="), ("QR==", "QQ=="), ("QUJDQf==", "QUJDQQ=="), ("QR", "QQ=="),
        ] {
            #expect(Base64.standard(text, decoded: try #require(decode(text))) == standard)
        }
    }

    @Test("the strict base64 decoder requires padding and the standard alphabet, and allows white space")
    func paddedForm() {
        for (text, bytes) in [
            ("", []), ("QQ==", [65]), ("QUI=", [65, 66]), ("QU\r\nJD +/ +/ ", [65, 66, 67, 251, 255, 191]),
        ] as [(String, [UInt8])] {
            #expect(Base64.decode(text.utf8, .standard) == bytes, "\(text)")
        }
        for text in ["QQ", "QQ=", "QUI", "-_-_", "QQ==QQ==", "QUJD=", "====", "Q"] {
            #expect(Base64.decode(text.utf8, .standard) == nil, "\(text)")
        }
    }

    @Test("the base64 URL encoder writes the URL alphabet without padding, and the decoder gets the same bytes back")
    func urlForm() {
        #expect(Base64.encodeURL([251, 255, 191, 65]) == "-_-_QQ")
        for count in 0..<50 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) }
            let text = Base64.encodeURL(bytes)
            #expect(!text.contains("="))
            #expect(Base64.decode(text.utf8) == bytes)
        }
    }
}
