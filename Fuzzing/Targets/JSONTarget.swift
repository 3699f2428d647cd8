import Encodings
import Foundation
import Fulfillment

extension FuzzTarget {
    /// The JSON of every record, and of every answer of Apple's.
    static let json = FuzzTarget(
        name: "json",
        seeds: {
            try SeedFiles.submissions(maximum: 2048)
                + [
                    "null", "true", " [1,-0,1.5e+3,0.0E-1] ", "\"\\u00e9\\ud83d\\ude00\\n\\/\"", "{}", "[[[[[[]]]]]]",
                    "{\"a\":{\"a\":1,\"a\":2}}", "\"\\ud800\"", "[1,]", "01", "1e999", "\u{FEFF}1", "\"\u{7F}\u{85}\"",
                    String(repeating: "[", count: 70) + String(repeating: "]", count: 70),
                ].map { Array($0.utf8) }
        },
        check: { bytes in
            let kept = try? JSONParser.parse(bytes, keeping: JSONNames(["a", "receipt_data"]))
            guard let document = try? JSONParser.parse(bytes) else {
                mustHold(kept == nil, "reading for some members takes nothing else")
                mustHold(!isPlainlyJSON(bytes), "what Foundation reads without its own liberties is read")
                return
            }
            mustHold(kept?.exceededDepth == document.exceededDepth, "reading for some members refuses nothing else")
            guard !document.exceededDepth else { return }
            var writer = JSONWriter()
            writer.value(document.value)
            guard let again = try? JSONParser.parse(writer.bytes) else { fatalError("what was written is read") }
            mustHold(again.value == document.value, "what was written reads as it was")
            var second = JSONWriter()
            second.value(again.value)
            mustHold(second.bytes == writer.bytes, "the same value gives the same bytes")
            mustHold(writer.bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "no control character is written")
            // Foundation refuses numbers beyond its range, and reads JSON with NUL bytes as UTF-16.
            guard !holdsHugeNumber(document.value), !bytes.contains(0) else { return }
            mustHold(foundation(writer.bytes) != nil, "what is read here, Foundation reads")
        },
        read: { _ = try? JSONParser.parse($0) },
        families: [
            .repeating("["), .repeating("[", before: "]"), .repeating("{\"a\":"), .repeating("0,", after: "["),
            .repeating("[],", after: "["), .repeating("{},", after: "["), .repeating("\"a\":0,", after: "{"),
            .repeating("\\u0041", after: "\""), .repeating("\\\"", after: "\""), .repeating("1"), .repeating(" "),
            .repeating("é", after: "\""), .repeating("\"\",", after: "["), .repeating("[[[[", after: "[["),
        ],
        words: ["\\u", "\\ud83d\\ude00", "true", "false", "null", "e+", "{\"", "\":", "[["])

    private static func foundation(_ bytes: [UInt8]) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
    }

    /// Foundation also accepts UTF-16, UTF-32, a byte order mark and a comma before a closing bracket. This function
    /// returns false for such documents. Our parser must accept every other document that Foundation accepts.
    private static func isPlainlyJSON(_ bytes: [UInt8]) -> Bool {
        guard !bytes.contains(0), !bytes.starts(with: [0xEF, 0xBB, 0xBF]),
            String(validating: bytes, as: UTF8.self) != nil,
            !bytes.starts(with: [0xFE]), !bytes.starts(with: [0xFF]), !hasCommaBeforeBracket(bytes)
        else { return false }
        return foundation(bytes) != nil
    }

    /// Returns whether a comma stands before a closing bracket, even within a string.
    private static func hasCommaBeforeBracket(_ bytes: [UInt8]) -> Bool {
        let visible = bytes.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        return zip(visible, visible.dropFirst()).contains { $0 == 0x2C && ($1 == 0x5D || $1 == 0x7D) }
    }

    private static func holdsHugeNumber(_ value: JSONValue) -> Bool {
        switch value {
        case .number(let text): text.utf8.count > 18 || text.utf8.contains { $0 == 0x65 || $0 == 0x45 }
        case .array(let elements): elements.contains(where: holdsHugeNumber)
        case .object(let members): members.contains { holdsHugeNumber($0.value) }
        default: false
        }
    }
}
