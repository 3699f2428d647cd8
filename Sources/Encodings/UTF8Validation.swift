enum UTF8Validation {
    /// Returns whether the bytes are UTF-8. Checks ASCII eight bytes at a time, and lets the standard library check
    /// other text.
    static func isValid(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { raw in
            var index = 0
            while index + 8 <= raw.count {
                let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                guard word & 0x8080_8080_8080_8080 == 0 else { return false }
                index += 8
            }
            return raw[index...].allSatisfy { $0 < 0x80 }
        } || String(validating: bytes, as: UTF8.self) != nil
    }
}
