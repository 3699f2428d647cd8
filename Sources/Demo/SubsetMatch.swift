import Encodings
import Fulfillment

/// Compares a value with an expected value. An object may have further members. Everything else must be equal.
enum SubsetMatch {
    /// Returns the path of the first difference and the value there; nil if there is no difference.
    static func difference(_ actual: JSONValue?, from expected: JSONValue, at path: String = "") -> String? {
        guard let actual else { return "\(path) is missing, expected \(text(expected))" }
        switch (expected, actual) {
        case (.object(let members), .object):
            for member in members where member.name != "same_event_as" {
                let inner = path.isEmpty ? member.name : "\(path).\(member.name)"
                if let difference = difference(actual[member.name], from: member.value, at: inner) { return difference }
            }
            return nil
        case (.array(let expectedElements), .array(let elements)):
            guard elements.count == expectedElements.count else {
                return "\(path) has \(elements.count) elements, expected \(expectedElements.count)"
            }
            for (index, element) in expectedElements.enumerated() {
                if let difference = difference(elements[index], from: element, at: "\(path)[\(index)]") {
                    return difference
                }
            }
            return nil
        default:
            return actual == expected ? nil : "\(path) is \(text(actual)), expected \(text(expected))"
        }
    }

    private static func text(_ value: JSONValue) -> String {
        var writer = JSONWriter()
        writer.value(value)
        return String(decoding: writer.bytes.prefix(200), as: UTF8.self)
    }
}
