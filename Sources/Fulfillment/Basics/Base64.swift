/// Base64 as clients send it: the standard or the URL alphabet, padded or not, white space anywhere.
public enum Base64 {
    /// Nil where `text` is not base64: a foreign character, data behind the padding, or a length that no bytes give.
    public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        text.withContiguousStorageIfAvailable(decodeContiguous) ?? Array(text).withUnsafeBufferPointer(decodeContiguous)
    }

    private static func decodeContiguous(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        var isValid = true
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3 + 3) { output, count in
            var bits: UInt32 = 0
            var digits = 0
            var padding = 0
            for character in text {
                let value = table[Int(character)]
                if value < 64 {
                    guard padding == 0 else { return isValid = false }
                    bits = bits << 6 | UInt32(value)
                    digits += 1
                    if digits & 3 == 0 {
                        output[count] = UInt8(truncatingIfNeeded: bits >> 16)
                        output[count + 1] = UInt8(truncatingIfNeeded: bits >> 8)
                        output[count + 2] = UInt8(truncatingIfNeeded: bits)
                        count += 3
                    }
                } else if value == pad {
                    padding += 1
                } else if value != blank {
                    return isValid = false
                }
            }
            // Unpadded is accepted; padding that is there must fill the last group.
            switch digits & 3 {
            case 0: isValid = padding == 0
            case 2:
                isValid = padding == 0 || padding == 2
                output[count] = UInt8(truncatingIfNeeded: bits >> 4)
                count += 1
            case 3:
                isValid = padding <= 1
                output[count] = UInt8(truncatingIfNeeded: bits >> 10)
                output[count + 1] = UInt8(truncatingIfNeeded: bits >> 2)
                count += 2
            default: isValid = false
            }
        }
        return isValid ? bytes : nil
    }

    private static let blank: UInt8 = 64
    private static let pad: UInt8 = 65
    private static let none: UInt8 = 66

    private static let table: [UInt8] = {
        var table = [UInt8](repeating: none, count: 256)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        for (value, character) in alphabet.enumerated() { table[Int(character)] = UInt8(value) }
        table[Int(UInt8(ascii: "-"))] = 62
        table[Int(UInt8(ascii: "_"))] = 63
        table[Int(UInt8(ascii: "="))] = pad
        for character in [0x20, 0x09, 0x0A, 0x0D] { table[character] = blank }
        return table
    }()
}
