/// Reads the NeXTSTEP-style property list of iOS 6 receipts, `{ "key" = "value"; … }`, in both of the spacings that
/// real receipts have. The list is flat, so the reader does not recurse.
enum PropertyListText {
    private static let maximumPairs = 64

    static func write(_ pairs: [(key: String, value: String)], isCompact: Bool) -> String {
        let body = pairs.map { pair in
            isCompact ? "\"\(pair.key)\"=\"\(pair.value)\";" : "\t\"\(pair.key)\" = \"\(pair.value)\";\n"
        }
        return isCompact ? "{\(body.joined())}" : "{\n\(body.joined())}"
    }

    /// Returns nil if the bytes are not a flat property list.
    static func read(_ bytes: [UInt8]) -> [String: String]? {
        var cursor = Cursor(bytes: bytes)
        guard cursor.take(UInt8(ascii: "{")) else { return nil }
        var pairs: [String: String] = [:]
        while !cursor.take(UInt8(ascii: "}")) {
            guard pairs.count < maximumPairs, let key = cursor.quoted(), cursor.take(UInt8(ascii: "=")),
                let value = cursor.quoted(), cursor.take(UInt8(ascii: ";"))
            else { return nil }
            pairs[key] = value
        }
        return pairs
    }

    private struct Cursor {
        let bytes: [UInt8]
        var position = 0

        mutating func take(_ character: UInt8) -> Bool {
            while position < bytes.count, bytes[position] <= 0x20 { position += 1 }
            guard position < bytes.count, bytes[position] == character else { return false }
            position += 1
            return true
        }

        mutating func quoted() -> String? {
            guard take(UInt8(ascii: "\"")) else { return nil }
            let start = position
            while position < bytes.count, bytes[position] != UInt8(ascii: "\"") { position += 1 }
            guard position < bytes.count else { return nil }
            defer { position += 1 }
            return String(decoding: bytes[start..<position], as: UTF8.self)
        }
    }
}
