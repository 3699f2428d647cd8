/// A UUID as two halves. The first byte is the highest, so UUIDs compare as in PostgreSQL.
public struct PostgresUUID: Hashable, Sendable, Comparable {
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Returns nil unless `bytes` has 16 bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
        return bytes
    }

    public static func < (left: PostgresUUID, right: PostgresUUID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension PostgresUUID: LosslessStringConvertible {
    private static let hyphens = [8, 13, 18, 23]

    /// Parses 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12, with hyphens between the groups.
    public init?(_ description: String) {
        let text = Array(description.utf8)
        guard text.count == 36, Self.hyphens.allSatisfy({ text[$0] == UInt8(ascii: "-") }) else { return nil }
        var bytes: [UInt8] = []
        var pending: UInt8?
        for (index, character) in text.enumerated() where !Self.hyphens.contains(index) {
            guard let digit = Character(Unicode.Scalar(character)).hexDigitValue else { return nil }
            if let first = pending {
                bytes.append(first << 4 | UInt8(digit))
                pending = nil
            } else {
                pending = UInt8(digit)
            }
        }
        self.init(bytes: bytes)
    }

    /// The UUID in lower case.
    public var description: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for byte in bytes {
            if Self.hyphens.contains(text.count) { text.append(UInt8(ascii: "-")) }
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
