import Logging

/// The bytes of a log line that is being written.
struct LogText {
    /// The most Unicode scalars of a value. A longer value is cut, and ends in `…`.
    static let maximumValueLength = 4_096

    private(set) var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(256) }

    /// Appends text that needs no escapes.
    mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }

    mutating func quoted(_ text: String) {
        raw("\"")
        escaped(text, quotes: true)
        raw("\"")
    }

    /// Appends a value, in quotes if it is empty or has a space, a `=` or a character that must be escaped.
    mutating func word(_ text: String) {
        let plain = !text.isEmpty && text.unicodeScalars.allSatisfy { $0 != " " && $0 != "=" && !Self.mustEscape($0) }
        if plain { escaped(text, quotes: true) } else { quoted(text) }
    }

    mutating func json(_ value: Logger.MetadataValue) {
        switch value {
        case .string(let text): quoted(text)
        case .stringConvertible(let convertible): json(convertible)
        case .array(let values):
            raw("[")
            for (index, value) in values.enumerated() {
                if index > 0 { raw(",") }
                json(value)
            }
            raw("]")
        case .dictionary: quoted("\(value)")
        }
    }

    /// Appends a JSON value. A number stays a number, so that a log store can compare it.
    private mutating func json(_ value: any CustomStringConvertible) {
        switch value {
        case let number as any BinaryInteger: raw(number.description)
        case let number as Double where number.isFinite: raw(number.description)
        case let flag as Bool: raw(flag.description)
        default: quoted(value.description)
        }
    }

    /// Appends text. Escapes, in JSON's form, each character that would end the line or the string, or control a
    /// terminal.
    mutating func escaped(_ text: String, quotes: Bool) {
        var length = 0
        for scalar in text.unicodeScalars {
            length += 1
            if length > Self.maximumValueLength { return raw("…") }
            switch scalar {
            case "\"" where !quotes: raw("\"")
            case "\"": raw("\\\"")
            case "\\": raw("\\\\")
            case "\n": raw("\\n")
            case "\r": raw("\\r")
            case "\t": raw("\\t")
            case _ where Self.mustEscape(scalar):
                let digits = String(scalar.value, radix: 16)
                raw("\\u" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits)
            default: bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            }
        }
    }

    /// Returns true for quotes, backslashes, control characters (C0, DEL, C1), line separators, and controls of text
    /// direction. All of these are in the Basic Multilingual Plane, so that `\uXXXX` can write each.
    private static func mustEscape(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x22, 0x5C, 0..<0x20, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }
}
