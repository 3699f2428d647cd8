extension [UInt8] {
    mutating func append(bigEndian value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    /// Replaces the four bytes at `offset`, which must all be inside the array.
    mutating func replace(at offset: Int, bigEndian value: Int32) {
        withUnsafeMutableBytes { $0.storeBytes(of: value.bigEndian, toByteOffset: offset, as: Int32.self) }
    }
}

/// Reads big-endian numbers and byte sequences one after the other. A read returns nil if too few bytes are left.
struct WireReader {
    private var rest: UnsafeRawBufferPointer.SubSequence

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func integer<Value: FixedWidthInteger>(_: Value.Type) -> Value? {
        guard let bytes = self.bytes(MemoryLayout<Value>.size) else { return nil }
        return Value(bigEndian: bytes.loadUnaligned(as: Value.self))
    }

    mutating func bytes(_ count: Int) -> UnsafeRawBufferPointer? {
        guard count >= 0, rest.count >= count else { return nil }
        let bytes = UnsafeRawBufferPointer(rebasing: rest.prefix(count))
        rest = rest.dropFirst(count)
        return bytes
    }
}

/// The binary format of a one-dimensional array (`array_send`): the number of dimensions, a has-null flag, and the
/// element type. Length and lower bound follow, and then each element as its length (-1: NULL) and bytes. An empty
/// array has no dimensions.
enum WireArray {
    /// Encodes values into one buffer. `elementBytes` is an estimate of an element's size.
    @inline(__always)
    static func encode<Values: Sequence, Element>(
        of type: UInt32, _ values: Values, elementBytes: Int, append: (inout [UInt8], Element) -> Void
    ) -> [UInt8] where Values.Element == Element? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(20 + values.underestimatedCount * (4 + elementBytes))
        for field in [1, 0, Int32(bitPattern: type), 0, 1] as [Int32] { bytes.append(bigEndian: field) }
        var count: Int32 = 0
        for value in values {
            count &+= 1
            let start = bytes.count
            bytes.append(bigEndian: -1 as Int32)
            if let value {
                append(&bytes, value)
                // Over 2 GiB the length overflows, but the session refuses such a large parameter.
                bytes.replace(at: start, bigEndian: Int32(truncatingIfNeeded: bytes.count - start - 4))
            } else {
                bytes.replace(at: 4, bigEndian: 1)
            }
        }
        if count == 0 {
            bytes.replace(at: 0, bigEndian: 0)
            bytes.removeLast(8)
        } else {
            bytes.replace(at: 12, bigEndian: count)
        }
        return bytes
    }

    /// Decodes an array. Returns nil if the bytes are not an array of at most one dimension, or if `element` returns
    /// nil.
    static func decode<Element>(
        _ bytes: UnsafeRawBufferPointer, _ element: (UnsafeRawBufferPointer) -> Element?
    ) -> [Element?]? {
        var reader = WireReader(bytes)
        guard let dimensions = reader.integer(Int32.self), reader.integer(Int32.self) != nil,
            reader.integer(UInt32.self) != nil
        else { return nil }
        if dimensions == 0 { return reader.isAtEnd ? [] : nil }
        guard dimensions == 1, let count = reader.integer(Int32.self), reader.integer(Int32.self) != nil,
            count >= 0, Int(count) <= bytes.count / 4
        else { return nil }
        var elements: [Element?] = []
        elements.reserveCapacity(Int(count))
        for _ in 0..<count {
            guard let length = reader.integer(Int32.self) else { return nil }
            if length == -1 {
                elements.append(nil)
            } else {
                guard let bytes = reader.bytes(Int(length)), let value = element(bytes) else { return nil }
                elements.append(value)
            }
        }
        return reader.isAtEnd ? elements : nil
    }
}
