#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

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
        left.text.utf8.count == right.text.utf8.count && order(left, right) == 0
    }

    public static func < (left: Identifier, right: Identifier) -> Bool { order(left, right) < 0 }

    /// Returns a number below zero if `left` comes before `right`, zero if the bytes are equal, and otherwise a number
    /// above zero.
    private static func order(_ left: Identifier, _ right: Identifier) -> Int {
        // `memcmp` is many times faster than a comparison of `utf8` views. Only a bridged string has no contiguous
        // bytes.
        let order = left.text.utf8.withContiguousStorageIfAvailable { left in
            right.text.utf8.withContiguousStorageIfAvailable { right in Self.order(left, right) }
        }
        if let order = order ?? nil { return order }
        return Array(left.text.utf8).withUnsafeBufferPointer { left in
            Array(right.text.utf8).withUnsafeBufferPointer { right in Self.order(left, right) }
        }
    }

    private static func order(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int {
        guard let first = left.baseAddress, let second = right.baseAddress else { return left.count - right.count }
        let order = memcmp(first, second, min(left.count, right.count))
        return order != 0 ? Int(order) : left.count - right.count
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
