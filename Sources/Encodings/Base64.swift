/// Base64 (RFC 4648). Foundation's decoder either refuses white space and the URL alphabet, or ignores every foreign
/// character.
public enum Base64 {
    /// The accepted forms of base64, with white space anywhere.
    public enum Form: Sendable {
        /// The standard or the URL alphabet, padded or not.
        case any
        /// The standard alphabet, padded.
        case standard
    }

    /// Returns the bytes; nil if `text` has a foreign character, data after the padding, or an impossible length.
    @inlinable
    public static func decode(_ text: some Collection<UInt8>, _ form: Form = .any) -> [UInt8]? {
        text.withContiguousStorageIfAvailable { decodeContiguous($0, form) }
            ?? Array(text).withUnsafeBufferPointer { decodeContiguous($0, form) }
    }

    /// Returns the bytes in the standard alphabet, padded, in one line.
    public static func encode(_ bytes: [UInt8]) -> String {
        String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { output in
            alphabet.withUnsafeBufferPointer { alphabet in
                var written = 0
                var index = 0
                while index < bytes.count {
                    let rest = bytes.count - index
                    let second = rest > 1 ? UInt32(bytes[index + 1]) : 0
                    let third = rest > 2 ? UInt32(bytes[index + 2]) : 0
                    let bits = UInt32(bytes[index]) << 16 | second << 8 | third
                    output[written] = alphabet[Int(bits >> 18)]
                    output[written + 1] = alphabet[Int(bits >> 12 & 63)]
                    output[written + 2] = rest > 1 ? alphabet[Int(bits >> 6 & 63)] : UInt8(ascii: "=")
                    output[written + 3] = rest > 2 ? alphabet[Int(bits & 63)] : UInt8(ascii: "=")
                    written += 4
                    index += 3
                }
                return written
            }
        }
    }

    /// Returns the bytes in the URL alphabet without padding, as RFC 7515 requires.
    public static func encodeURL(_ bytes: [UInt8]) -> String {
        let text = encode(bytes).utf8.compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    @usableFromInline
    static func decodeContiguous(_ text: UnsafeBufferPointer<UInt8>, _ form: Form) -> [UInt8]? {
        let mustPad = form == .standard
        var isValid = false
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3 + 3) { output, count in
            let table = mustPad ? standardTable : anyTable
            guard let padding = decode(text, into: output, count: &count, table) else { return }
            isValid = !mustPad || (count + padding) % 3 == 0
        }
        return isValid ? bytes : nil
    }

    /// Returns the number of padding characters; nil if the text is not base64.
    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>, count: inout Int,
        _ table: Base64Table
    ) -> Int? {
        var bits: UInt32 = 0
        var digits = 0
        var padding = 0
        var index = 0
        while index < text.count {
            if digits & 3 == 0, padding == 0 {
                index += table.decodeGroups(text[index...], into: output, count: &count)
                if index == text.count { break }
            }
            let value = table.values[Int(text[index])]
            index += 1
            if value < 64 {
                guard padding == 0 else { return nil }
                bits = bits << 6 | UInt32(value)
                digits += 1
                if digits & 3 == 0 {
                    output[count] = UInt8(truncatingIfNeeded: bits >> 16)
                    output[count + 1] = UInt8(truncatingIfNeeded: bits >> 8)
                    output[count + 2] = UInt8(truncatingIfNeeded: bits)
                    count += 3
                }
            } else if value == Base64Table.pad {
                padding += 1
            } else if value != Base64Table.blank {
                return nil
            }
        }
        // Padding, if there is any, must fill the last group.
        switch digits & 3 {
        case 0: return padding == 0 ? padding : nil
        case 2:
            output[count] = UInt8(truncatingIfNeeded: bits >> 4)
            count += 1
            return padding == 0 || padding == 2 ? padding : nil
        case 3:
            output[count] = UInt8(truncatingIfNeeded: bits >> 10)
            output[count + 1] = UInt8(truncatingIfNeeded: bits >> 2)
            count += 2
            return padding <= 1 ? padding : nil
        default: return nil
        }
    }

    static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static let standardTable = Base64Table(alsoURL: false)
    private static let anyTable = Base64Table(alsoURL: true)
}
