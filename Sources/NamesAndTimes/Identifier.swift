/// A name from outside, compared as its UTF-8 bytes.
///
/// Swift compares `String`s by canonical equivalence: two names are equal even if they encode an accent in different
/// ways. PostgreSQL and Kafka compare bytes. So does `Identifier`.
public struct Identifier: Sendable, Hashable, Comparable, ExpressibleByStringLiteral, CustomStringConvertible {
    public let text: String

    public init(_ text: String) {
        self.text = text
    }

    public init(stringLiteral value: String) {
        self.init(value)
    }

    public static func == (left: Identifier, right: Identifier) -> Bool {
        guard left.text.utf8.count == right.text.utf8.count else { return false }
        // A comparison of contiguous bytes is many times faster than a comparison of `utf8` views. Only a bridged
        // string has no contiguous bytes.
        let areEqual = left.text.utf8.withContiguousStorageIfAvailable { left in
            right.text.utf8.withContiguousStorageIfAvailable { right in Self.areEqual(left, right) }
        }
        return (areEqual ?? nil) ?? left.text.utf8.elementsEqual(right.text.utf8)
    }

    /// Compares eight bytes at a time. Both buffers must have the same length.
    private static func areEqual(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
        let left = UnsafeRawBufferPointer(left)
        let right = UnsafeRawBufferPointer(right)
        var index = 0
        while index + 8 <= left.count {
            let word = left.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            guard word == right.loadUnaligned(fromByteOffset: index, as: UInt64.self) else { return false }
            index += 8
        }
        while index < left.count {
            guard left[index] == right[index] else { return false }
            index += 1
        }
        return true
    }

    public static func < (left: Identifier, right: Identifier) -> Bool {
        let precedes = left.text.utf8.withContiguousStorageIfAvailable { left in
            right.text.utf8.withContiguousStorageIfAvailable { right in Self.precedes(left, right) }
        }
        return (precedes ?? nil) ?? left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    /// Compares eight bytes at a time. Apple's ids often begin alike.
    private static func precedes(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
        let left = UnsafeRawBufferPointer(left)
        let right = UnsafeRawBufferPointer(right)
        let shorter = min(left.count, right.count)
        var index = 0
        while index + 8 <= shorter {
            let word = UInt64(bigEndian: left.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let other = UInt64(bigEndian: right.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            if word != other { return word < other }
            index += 8
        }
        while index < shorter {
            if left[index] != right[index] { return left[index] < right[index] }
            index += 1
        }
        return left.count < right.count
    }

    public func hash(into hasher: inout Hasher) {
        let isHashed: Void? = text.utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if isHashed == nil {
            var copy = text
            copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }

    public var description: String { text }
}
