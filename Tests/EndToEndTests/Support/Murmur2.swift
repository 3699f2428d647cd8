/// The hash with which Java's producer chooses a partition (org.apache.kafka.common.utils.Utils.murmur2).
enum Murmur2 {
    static func partition(of key: [UInt8], count: Int32) -> Int32 {
        Int32(bitPattern: hash(key) & 0x7FFF_FFFF) % count
    }

    static func hash(_ key: [UInt8]) -> UInt32 {
        let factor: UInt32 = 0x5BD1_E995
        var state = 0x9747_B28C ^ UInt32(truncatingIfNeeded: key.count)
        let whole = key.count / 4 * 4
        for start in stride(from: 0, to: whole, by: 4) {
            var word = (0..<4).reduce(UInt32(0)) { $0 | UInt32(key[start + $1]) << UInt32($1 * 8) }
            word = word &* factor
            word = (word ^ word >> 24) &* factor
            state = state &* factor ^ word
        }
        if whole < key.count {
            for place in whole..<key.count { state ^= UInt32(key[place]) << UInt32((place - whole) * 8) }
            state = state &* factor
        }
        state = (state ^ state >> 13) &* factor
        return state ^ state >> 15
    }
}
