/// A flat property list of the old style, `{ "key" = "value"; … }`, with any white space. The list does not nest, so
/// the scanner needs no recursion.
struct PropertyList {
    /// The most pairs. A genuine list has about thirty at most.
    static let maximumPairs = 128

    private var pairs: [String: String] = [:]

    subscript(key: String) -> String? { pairs[key] }

    /// Returns nil if the bytes are not a flat property list, or if a key comes twice.
    init?(_ bytes: [UInt8]) {
        var scanner = PropertyListScanner(bytes)
        guard scanner.take("{") else { return nil }
        while !scanner.take("}") {
            guard pairs.count < Self.maximumPairs, let key = scanner.text(), scanner.take("="),
                let value = scanner.text(), pairs.updateValue(value, forKey: key) == nil
            else { return nil }
            guard scanner.take(";") else {
                guard scanner.take("}") else { return nil }
                break
            }
        }
        guard scanner.isAtEnd else { return nil }
    }
}

private struct PropertyListScanner {
    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// True if only white space and NULs follow. The scanner accepts NULs because some clients send C strings.
    var isAtEnd: Bool { bytes[index...].allSatisfy { $0 <= 0x20 } }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        while index < bytes.count, bytes[index] <= 0x20 { index += 1 }
        guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    /// Returns a quoted text or an unquoted word; nil if there is neither.
    mutating func text() -> String? {
        take("\"") ? quoted() : word()
    }

    private mutating func quoted() -> String? {
        var text: [UInt8] = []
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            if byte == UInt8(ascii: "\"") { return String(validating: text, as: UTF8.self) }
            if byte == UInt8(ascii: "\\") {
                // Only a quote or a backslash may be escaped, because a receipt needs no other escapes.
                guard index < bytes.count, bytes[index] == byte || bytes[index] == UInt8(ascii: "\"") else {
                    return nil
                }
                text.append(bytes[index])
                index += 1
            } else {
                text.append(byte)
            }
        }
        return nil
    }

    private mutating func word() -> String? {
        let start = index
        while index < bytes.count, Self.isWordCharacter(bytes[index]) { index += 1 }
        return index == start ? nil : String(validating: bytes[start..<index], as: UTF8.self)
    }

    private static func isWordCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: ":"), UInt8(ascii: "/"): true
        default: false
        }
    }
}
