import Encodings
import Foundation

@testable import Encodings
@testable import Fulfillment

/// Foundation's reader of JSON, with which tests compare our parser.
enum FoundationOracle {
    /// Returns Foundation's value; nil if Foundation refuses the bytes.
    static func read(_ bytes: [UInt8]) -> Any? {
        try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
    }

    /// Returns the bytes without commas before closing brackets. Foundation accepts such commas; RFC 8259 does not.
    static func withoutTrailingCommas(_ bytes: [UInt8]) -> [UInt8] {
        var kept: [UInt8] = []
        var comma: Int?
        var isInString = false
        var isEscaped = false
        for byte in bytes {
            if isInString {
                if byte == UInt8(ascii: "\""), !isEscaped { isInString = false }
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
            } else {
                isInString = byte == UInt8(ascii: "\"")
                if byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}"), let comma { kept.remove(at: comma) }
                if ![0x20, 0x09, 0x0A, 0x0D].contains(byte) { comma = byte == UInt8(ascii: ",") ? kept.count : nil }
            }
            kept.append(byte)
        }
        return kept
    }

    /// Returns whether our parser's value equals Foundation's value.
    static func agrees(_ ours: JSONValue, _ theirs: Any) -> Bool {
        switch ours {
        case .null: return theirs is NSNull
        case .bool(let flag): return (theirs as? Bool) == flag
        case .number(let text):
            guard let number = theirs as? NSNumber, let value = Double(text) else { return false }
            // Foundation converts by way of a decimal number and may round twice.
            return abs(number.doubleValue - value) <= 16 * max(value.ulp, number.doubleValue.ulp)
        case .string(let text):
            guard let other = theirs as? String else { return false }
            return text.utf8.elementsEqual(other.utf8)
        case .array(let elements):
            guard let others = theirs as? [Any], others.count == elements.count else { return false }
            return zip(elements, others).allSatisfy { agrees($0, $1) }
        case .object(let members):
            // Foundation keeps one of two members with the same name. This function accepts either member.
            guard let others = theirs as? [String: Any] else { return false }
            let names = Set(members.map(\.name))
            guard names.count == others.count else { return false }
            return members.allSatisfy { member in
                members.filter { $0.name == member.name }.count > 1
                    || others[member.name].map { agrees(member.value, $0) } ?? false
            }
        }
    }
}
