extension JSONParser {
    /// Reads a string, with the index on its opening quote.
    mutating func string() throws(JSONFault) -> String {
        index += 1
        let start = index
        guard try isPlain() else { return try escapedString(from: start) }
        defer { index += 1 }
        return text(from: start)
    }

    /// Reads a member's name, with the index on its opening quote. Returns nil if the parser must not keep the member.
    mutating func keptName() throws(JSONFault) -> String? {
        guard let names, keeps else {
            let name = try string()
            return keeps ? name : nil
        }
        index += 1
        let start = index
        guard try isPlain() else { return names.name(try escapedString(from: start)) }
        defer { index += 1 }
        return names.name(UnsafeBufferPointer(rebasing: bytes[start..<index]))
    }

    /// Moves the index to the closing quote or to the first backslash, whichever comes first. Returns true at the
    /// closing quote.
    private mutating func isPlain() throws(JSONFault) -> Bool {
        skipPlainWords()
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") { return true }
            if byte == UInt8(ascii: "\\") { return false }
            guard byte >= 0x20 else { throw fault("a control character is in a string") }
            index += 1
        }
        throw fault("a string is not closed")
    }

    /// Moves on by eight bytes at a time, until one of the bytes is a quote, a backslash or a control character. Base64
    /// has thousands of other bytes in a row.
    private mutating func skipPlainWords() {
        let raw = UnsafeRawBufferPointer(bytes)
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops = ones << 7
        /// Returns 0 if no byte of `word` is 0; otherwise returns another value.
        func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word & tops }
        while index + 8 <= raw.count {
            let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let controls = (word &- ones &* 0x20) & ~word & tops
            guard zeros(word ^ ones &* 0x22) | zeros(word ^ ones &* 0x5C) | controls == 0 else { return }
            index += 8
        }
    }

    /// Returns the text from `start` to the index; empty if `keeps` is false.
    func text(from start: Int) -> String {
        keeps ? String(decoding: bytes[start..<index], as: UTF8.self) : ""
    }

    /// Reads the rest of a string with escapes, with the index on the first backslash. This is the slow path.
    private mutating func escapedString(from start: Int) throws(JSONFault) -> String {
        var text: [UInt8] = []
        var plainStart = start
        while index < bytes.count {
            let byte = bytes[index]
            guard byte >= 0x20 else { throw fault("a control character is in a string") }
            guard byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else {
                index += 1
                continue
            }
            text.append(contentsOf: bytes[plainStart..<index])
            index += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
            let escape = current
            index += 1
            switch escape {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(escape)
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"): text.append(contentsOf: String(try unicodeEscape()).utf8)
            default: throw fault("an unknown escape is in a string")
            }
            plainStart = index
        }
        throw fault("a string is not closed")
    }

    /// Reads `XXXX`, or a surrogate pair `XXXX\uXXXX`. Throws for half a pair, which is not a character.
    private mutating func unicodeEscape() throws(JSONFault) -> Unicode.Scalar {
        let first = try fourHexDigits()
        guard (0xD800...0xDBFF).contains(first) else {
            guard let scalar = Unicode.Scalar(first) else { throw fault("half a surrogate pair is in a string") }
            return scalar
        }
        guard current == UInt8(ascii: "\\"), index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "u") else {
            throw fault("half a surrogate pair is in a string")
        }
        index += 2
        let second = try fourHexDigits()
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw fault("half a surrogate pair is in a string") }
        return scalar
    }

    private mutating func fourHexDigits() throws(JSONFault) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = HexDigit.value(of: current) else { throw fault("a \\u escape is not four hex digits") }
            value = value << 4 | UInt32(digit)
            index += 1
        }
        return value
    }
}
