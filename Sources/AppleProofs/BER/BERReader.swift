/// Reads the elements in a range of bytes one by one, including BER's indefinite lengths.
///
/// The reader makes no tree, and skips elements that its caller does not need. So a message with a million tiny
/// elements, or with a million levels, costs no memory. swift-asn1 makes a node of every element, even in a receipt's
/// certificates. This would take two thirds of the time in which receiptd proves a receipt. The tests compare the
/// results of this reader with those of swift-asn1.
struct BERReader {
    /// The most nested indefinite lengths. A genuine message has four.
    static let maximumOpenLengths = 32
    /// The most nested segments of an OCTET STRING.
    static let maximumSegmentDepth = 4

    let bytes: [UInt8]
    private var index: Int
    private let end: Int

    init(_ bytes: [UInt8]) {
        self.init(bytes, in: 0..<bytes.count)
    }

    /// Reads the elements inside `element`, which must come from `bytes`.
    init(_ bytes: [UInt8], inside element: BERElement) {
        self.init(bytes, in: element.content)
    }

    init(_ bytes: [UInt8], in range: Range<Int>) {
        self.bytes = bytes
        index = range.lowerBound
        end = range.upperBound
    }

    var isAtEnd: Bool { index == end }

    /// The tag of the next element; nil at the end.
    var nextTag: UInt8? { index < end ? bytes[index] : nil }

    /// Returns the next element; nil at the end.
    mutating func next() throws(BERFault) -> BERElement? {
        guard index < end else { return nil }
        let start = index
        let header = try header(at: start)
        let element: BERElement
        if let length = header.length {
            let contentEnd = header.contentStart + length
            element = BERElement(
                tag: bytes[start], start: start, content: header.contentStart..<contentEnd, end: contentEnd)
        } else {
            let contentEnd = try endOfContents(from: header.contentStart)
            element = BERElement(
                tag: bytes[start], start: start, content: header.contentStart..<contentEnd, end: contentEnd + 2)
        }
        index = element.end
        return element
    }

    /// Returns the next element. Throws unless the element has the tag `tag`.
    mutating func next(_ tag: UInt8) throws(BERFault) -> BERElement {
        guard let element = try next(), element.tag == tag else { throw .unexpectedElement }
        return element
    }

    /// Returns the next element if it has the tag `tag`. Otherwise returns nil, and does not move on.
    mutating func next(ifTagged tag: UInt8) throws(BERFault) -> BERElement? {
        nextTag == tag ? try next() : nil
    }

    private struct Header {
        let contentStart: Int
        /// The length; nil if it is indefinite. A definite length ends within the range.
        let length: Int?
    }

    private func header(at start: Int) throws(BERFault) -> Header {
        guard start + 2 <= end else { throw .truncated }
        let tag = bytes[start]
        guard tag & 0x1F != 0x1F else { throw .unsupportedTag }
        let first = bytes[start + 1]
        var contentStart = start + 2
        if first == 0x80 {
            guard tag & 0x20 != 0 else { throw .unsupportedLength }
            return Header(contentStart: contentStart, length: nil)
        }
        var length = Int(first)
        if first > 0x80 {
            let count = Int(first & 0x7F)
            guard count <= 4 else { throw .unsupportedLength }
            guard contentStart + count <= end else { throw .truncated }
            length = 0
            for _ in 0..<count {
                length = length << 8 | Int(bytes[contentStart])
                contentStart += 1
            }
        }
        guard length <= end - contentStart else { throw .truncated }
        return Header(contentStart: contentStart, length: length)
    }

    /// Finds the end-of-contents octets that close an indefinite length. The function does not recurse, so that nested
    /// lengths use no stack.
    private func endOfContents(from start: Int) throws(BERFault) -> Int {
        var position = start
        var open = 1
        while true {
            guard position + 2 <= end else { throw .truncated }
            if bytes[position] == 0, bytes[position + 1] == 0 {
                open -= 1
                if open == 0 { return position }
                position += 2
                continue
            }
            let header = try header(at: position)
            position = header.contentStart
            if let length = header.length {
                position += length
            } else {
                open += 1
                guard open <= Self.maximumOpenLengths else { throw .tooDeep }
            }
        }
    }
}
