import Crypto

/// A UUID of version 5: equal names give equal UUIDs on every machine (RFC 9562, section 5.5).
public struct NameBasedUUID: Sendable, Hashable, Comparable, CustomStringConvertible {
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Hashes `parts` in receiptd's own namespace. The length of each part is hashed before the part, so that different
    /// lists give different bytes.
    /// - Parameter digest: one more part at the end.
    public init(_ parts: [some Collection<UInt8>], then digest: Digest256? = nil) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(parts.reduce(Self.namespace.count + 36) { $0 + 4 + $1.count })
        bytes.append(contentsOf: Self.namespace)
        func append(_ part: some Collection<UInt8>) {
            for shift in stride(from: 24, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: part.count >> shift))
            }
            bytes.append(contentsOf: part)
        }
        for part in parts { append(part) }
        if let digest { append(digest.bytes) }
        var words: (UInt64, UInt64) = (0, 0)
        Insecure.SHA1.hash(data: bytes).withUnsafeBytes { digest in
            for index in 0..<8 {
                words.0 = words.0 << 8 | UInt64(digest[index])
                words.1 = words.1 << 8 | UInt64(digest[index + 8])
            }
        }
        high = words.0 & 0xFFFF_FFFF_FFFF_0FFF | 0x5000
        low = words.1 & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    }

    public init(_ parts: String...) {
        self.init(parts.map(\.utf8))
    }

    /// The namespace of receiptd's ids, 8f1c5b1e-5a0c-4c55-9d5f-7d2b6a0f3e11, a random UUID.
    private static let namespace: [UInt8] = [
        0x8F, 0x1C, 0x5B, 0x1E, 0x5A, 0x0C, 0x4C, 0x55, 0x9D, 0x5F, 0x7D, 0x2B, 0x6A, 0x0F, 0x3E, 0x11,
    ]

    public static func < (left: NameBasedUUID, right: NameBasedUUID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }

    /// The UUID in lower case, 8-4-4-4-12.
    public var description: String {
        String(unsafeUninitializedCapacity: 36) { buffer in
            var index = 0
            for position in 0..<32 {
                if position == 8 || position == 12 || position == 16 || position == 20 {
                    buffer[index] = UInt8(ascii: "-")
                    index += 1
                }
                let word = position < 16 ? high : low
                let nibble = UInt8(truncatingIfNeeded: word >> (60 - 4 * UInt64(position % 16))) & 0xF
                buffer[index] = nibble < 10 ? 0x30 + nibble : 0x57 + nibble
                index += 1
            }
            return 36
        }
    }
}
