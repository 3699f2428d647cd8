/// The value that each byte has in base64, as a digit or otherwise.
struct Base64Table: Sendable {
    static let blank: UInt8 = 64
    static let pad: UInt8 = 65
    private static let none: UInt8 = 66

    /// The value of each byte: a digit's value, or one of the three constants above.
    let values: [UInt8]
    /// The bits that each byte adds to a group of four digits: first the 256 bytes as a group's first digit, then as
    /// its second, third and fourth digit. A byte that is no digit has only the bit `foreign`.
    private let groups: [UInt32]
    private static let foreign: UInt32 = 1 << 31

    /// - Parameter alsoURL: true to add the URL alphabet's digits to those of the standard alphabet.
    init(alsoURL: Bool) {
        var values = [UInt8](repeating: Self.none, count: 256)
        for (value, character) in Base64.alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        values[Int(UInt8(ascii: "="))] = Self.pad
        for character in [0x20, 0x09, 0x0A, 0x0D] { values[character] = Self.blank }
        if alsoURL {
            values[Int(UInt8(ascii: "-"))] = 62
            values[Int(UInt8(ascii: "_"))] = 63
        }
        self.values = values
        groups = [18, 12, 6, 0].flatMap { shift in values.map { $0 < 64 ? UInt32($0) << shift : Self.foreign } }
    }

    /// Decodes groups of four digits, and ends before the first group with another character. Four look-ups give a
    /// group's bits, and one write stores them, because a receipt has thousands of groups.
    /// - Parameters:
    ///   - output: has room for one byte more than the groups need.
    ///   - count: the number of bytes in `output`. The function adds the bytes that it writes.
    /// - Returns: the number of decoded characters, a multiple of four.
    func decodeGroups(
        _ text: Slice<UnsafeBufferPointer<UInt8>>, into output: UnsafeMutableBufferPointer<UInt8>, count: inout Int
    ) -> Int {
        let text = UnsafeBufferPointer(rebasing: text)
        let output = UnsafeMutableRawBufferPointer(output)
        return groups.withUnsafeBufferPointer { groups in
            var (index, written) = (0, count)
            while index &+ 4 <= text.count {
                let bits =
                    groups[Int(text[index])] | groups[256 &+ Int(text[index &+ 1])]
                    | groups[512 &+ Int(text[index &+ 2])] | groups[768 &+ Int(text[index &+ 3])]
                if bits & Self.foreign != 0 { break }
                output.storeBytes(of: (bits << 8).bigEndian, toByteOffset: written, as: UInt32.self)
                index &+= 4
                written &+= 3
            }
            count = written
            return index
        }
    }
}
