/// Reads definite-length, single-byte-tag TLV within bounds; anything else ends the reading. It never recurses and
/// never traps, whatever the bytes.
struct DERReader {
    struct Element {
        var tag: UInt8
        var content: Range<Int>
    }

    private let bytes: [UInt8]
    private var position: Int
    private let end: Int

    init(_ bytes: [UInt8]) {
        self.init(bytes, in: 0..<bytes.count)
    }

    /// - Precondition: `range` lies within `bytes`; ranges of elements read from the same bytes do.
    init(_ bytes: [UInt8], in range: Range<Int>) {
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    /// The next element; nil at the end, and for good at the first malformed byte.
    mutating func next() -> Element? {
        guard end - position >= 2 else { return nil }
        let tag = bytes[position]
        guard tag & 0x1F != 0x1F else { return nil }
        var cursor = position + 2
        var length = Int(bytes[position + 1])
        if length >= 0x80 {
            let digits = length & 0x7F
            guard digits > 0, digits <= 4, end - cursor >= digits else { return nil }
            length = 0
            for index in cursor..<(cursor + digits) { length = length << 8 | Int(bytes[index]) }
            cursor += digits
        }
        guard length <= end - cursor else { return nil }
        position = cursor + length
        return Element(tag: tag, content: cursor..<position)
    }

    /// The next element when it has this tag.
    mutating func next(_ tag: UInt8) -> Element? {
        guard let element = next(), element.tag == tag else { return nil }
        return element
    }

    /// Steps into the next element when it has this tag.
    mutating func enter(_ tag: UInt8) -> DERReader? {
        guard let element = next(tag) else { return nil }
        return DERReader(bytes, in: element.content)
    }

    mutating func integer() -> Int64? {
        guard let element = next(DERWriter.Tag.integer) else { return nil }
        return Self.integer(bytes, element.content)
    }

    static func integer(_ bytes: [UInt8], _ range: Range<Int>) -> Int64? {
        guard (1...8).contains(range.count) else { return nil }
        var value: Int64 = bytes[range.lowerBound] >= 0x80 ? -1 : 0
        for index in range { value = value << 8 | Int64(bytes[index]) }
        return value
    }
}
