/// Computes the partition of a record's key as Java's default partitioner and librdkafka's `murmur2_random` do. The key
/// of an event is the player id. Source: org.apache.kafka.common.utils.Utils.murmur2.
enum RecordPartition {
    private static let seed: UInt32 = 0x9747_B28C
    private static let factor: UInt32 = 0x5BD1_E995

    /// Returns the partition of a key.
    /// - Parameter count: the number of the topic's partitions, at least 1.
    static func of(_ key: [UInt8], count: Int) -> Int32 {
        Int32(hash(key) & 0x7FFF_FFFF) % Int32(count)
    }

    private static func hash(_ key: [UInt8]) -> UInt32 {
        var hash = seed ^ UInt32(truncatingIfNeeded: key.count)
        var rest = key[...]
        while rest.count >= 4 {
            var word = rest.prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            rest = rest.dropFirst(4)
            word = word &* factor
            word ^= word >> 24
            hash = (hash &* factor) ^ (word &* factor)
        }
        if !rest.isEmpty {
            hash ^= rest.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            hash = hash &* factor
        }
        hash ^= hash >> 13
        hash = hash &* factor
        return hash ^ hash >> 15
    }
}
