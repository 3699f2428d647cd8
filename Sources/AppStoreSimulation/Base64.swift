/// RFC 4648 base64 with the standard alphabet, whitespace skipped; strict about padding and everything else, as Apple is.
/// Own code because it runs for every request straight over the network buffer.
enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static let padding: UInt8 = 0x3D
    private static let whitespace: UInt8 = 0xFE
    private static let invalid: UInt8 = 0xFF

    private static let values: [UInt8] = {
        var table = [UInt8](repeating: invalid, count: 256)
        for (value, character) in alphabet.enumerated() { table[Int(character)] = UInt8(value) }
        for space in [0x20, 0x09, 0x0A, 0x0D] { table[space] = whitespace }
        return table
    }()

    static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var group: UInt32 = 0
        var filled = 0
        for byte in bytes {
            group = group << 8 | UInt32(byte)
            filled += 1
            if filled == 3 {
                for shift in [18, 12, 6, 0] as [UInt32] { text.append(alphabet[Int(group >> shift & 63)]) }
                group = 0
                filled = 0
            }
        }
        if filled == 1 {
            text += [alphabet[Int(group >> 2)], alphabet[Int(group << 4 & 63)], padding, padding]
        } else if filled == 2 {
            text += [
                alphabet[Int(group >> 10)], alphabet[Int(group >> 4 & 63)], alphabet[Int(group << 2 & 63)], padding,
            ]
        }
        return String(decoding: text, as: UTF8.self)
    }

    static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { decode(UnsafeRawBufferPointer($0)) }
    }

    /// nil when empty or not base64.
    static func decode(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        var isValid = true
        let bytes = values.withUnsafeBufferPointer { values in
            [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3 + 3) { output, count in
                isValid = decode(text, values, output, &count)
            }
        }
        return isValid && !bytes.isEmpty ? bytes : nil
    }

    private static func decode(
        _ text: UnsafeRawBufferPointer, _ values: UnsafeBufferPointer<UInt8>,
        _ output: UnsafeMutableBufferPointer<UInt8>, _ count: inout Int
    ) -> Bool {
        var written = 0
        defer { count = written }
        var position = 0
        // Four plain characters at a time, until the first whitespace, padding or rubbish.
        while position + 4 <= text.count {
            let first = values[Int(text[position])]
            let second = values[Int(text[position + 1])]
            let third = values[Int(text[position + 2])]
            let fourth = values[Int(text[position + 3])]
            guard first | second | third | fourth < 64 else { break }
            output[written] = first << 2 | second >> 4
            output[written + 1] = second << 4 | third >> 2
            output[written + 2] = third << 6 | fourth
            written += 3
            position += 4
        }
        return decodeSlowly(text[position...], values, output, &written)
    }

    private static func decodeSlowly(
        _ text: Slice<UnsafeRawBufferPointer>, _ values: UnsafeBufferPointer<UInt8>,
        _ output: UnsafeMutableBufferPointer<UInt8>, _ count: inout Int
    ) -> Bool {
        var group: UInt32 = 0
        var filled = 0
        var paddings = 0
        for character in text {
            let value = values[Int(character)]
            if value < 64, paddings == 0 {
                group = group << 6 | UInt32(value)
                filled += 1
                if filled == 4 {
                    output[count] = UInt8(truncatingIfNeeded: group >> 16)
                    output[count + 1] = UInt8(truncatingIfNeeded: group >> 8)
                    output[count + 2] = UInt8(truncatingIfNeeded: group)
                    count += 3
                    group = 0
                    filled = 0
                }
            } else if character == padding {
                paddings += 1
            } else if value != whitespace {
                return false
            }
        }
        switch (filled, paddings) {
        case (0, 0):
            return true
        case (2, 2):
            output[count] = UInt8(truncatingIfNeeded: group >> 4)
            count += 1
            return true
        case (3, 1):
            output[count] = UInt8(truncatingIfNeeded: group >> 10)
            output[count + 1] = UInt8(truncatingIfNeeded: group >> 2)
            count += 2
            return true
        default:
            return false
        }
    }
}
