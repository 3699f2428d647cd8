/// Finds a text with more than `maximum` YAML aliases, which nobody writes by mistake.
///
/// `YAMLComposition` reports each alias as a fault. Before that, the YAML library expands aliases to compare keys. A
/// few dozen nested aliases expand to so much that the comparison never ends. This check is cheap. It is wrong only
/// for prose with many words that begin with an asterisk.
enum AliasFlood {
    /// The most aliases. 16 aliases make a value at most about a thousand times larger.
    static let maximum = 16

    /// Returns the position of the first alias beyond the maximum; nil if there is none.
    static func position(in text: String) -> TextPosition? {
        var text = text
        return text.withUTF8 { bytes in
            var count = 0
            var position = TextPosition(line: 1, column: 0)
            for index in bytes.indices {
                let byte = bytes[index]
                if byte == UInt8(ascii: "\n") {
                    position = TextPosition(line: position.line + 1, column: 0)
                } else if byte & 0xC0 != 0x80 {
                    position.column += 1
                }
                guard byte == UInt8(ascii: "*"), isAlias(bytes, at: index) else { continue }
                count += 1
                if count > maximum { return position }
            }
            return nil
        }
    }

    private static func isAlias(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
        if index > 0, isNameByte(bytes[index - 1]) { return false }
        var end = index + 1
        while end < bytes.count, isNameByte(bytes[end]) { end += 1 }
        guard end > index + 1 else { return false }
        // A byte above ASCII may begin one of the three line breaks that YAML 1.1 adds.
        return end == bytes.count || bytes[end] >= 0x80 || " \t\r\n?:,]}%@`".utf8.contains(bytes[end])
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
        default: false
        }
    }
}
