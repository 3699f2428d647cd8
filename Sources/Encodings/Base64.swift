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
            isValid = (mustPad ? standardValues : values).withUnsafeBufferPointer { values in
                guard let padding = decode(text, into: output, count: &count, values: values) else { return false }
                return !mustPad || (count + padding) % 3 == 0
            }
        }
        return isValid ? bytes : nil
    }

    /// Returns the number of padding characters; nil if the text is not base64.
    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, into output: UnsafeMutableBufferPointer<UInt8>, count: inout Int,
        values: UnsafeBufferPointer<UInt8>
    ) -> Int? {
        var bits: UInt32 = 0
        var digits = 0
        var padding = 0
        func endGroup() {
            output[count] = UInt8(truncatingIfNeeded: bits >> 16)
            output[count + 1] = UInt8(truncatingIfNeeded: bits >> 8)
            output[count + 2] = UInt8(truncatingIfNeeded: bits)
            count += 3
        }
        var index = 0
        while index < text.count {
            // Four digits in a row are decoded as one group.
            if digits & 3 == 0, padding == 0, index + 4 <= text.count {
                let first = UInt32(values[Int(text[index])])
                let second = UInt32(values[Int(text[index + 1])])
                let third = UInt32(values[Int(text[index + 2])])
                let fourth = UInt32(values[Int(text[index + 3])])
                if first | second | third | fourth < 64 {
                    bits = first << 18 | second << 12 | third << 6 | fourth
                    endGroup()
                    index += 4
                    continue
                }
            }
            let value = values[Int(text[index])]
            index += 1
            if value < 64 {
                guard padding == 0 else { return nil }
                bits = bits << 6 | UInt32(value)
                digits += 1
                if digits & 3 == 0 { endGroup() }
            } else if value == pad {
                padding += 1
            } else if value != blank {
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

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static let blank: UInt8 = 64
    private static let pad: UInt8 = 65
    private static let none: UInt8 = 66

    /// The value of each byte: a digit's value, or one of the three constants above.
    private static let standardValues: [UInt8] = {
        var values = [UInt8](repeating: none, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        values[Int(UInt8(ascii: "="))] = pad
        for character in [0x20, 0x09, 0x0A, 0x0D] { values[character] = blank }
        return values
    }()

    /// `standardValues`, with the URL alphabet's digits added.
    private static let values: [UInt8] = {
        var values = standardValues
        values[Int(UInt8(ascii: "-"))] = 62
        values[Int(UInt8(ascii: "_"))] = 63
        return values
    }()
}
