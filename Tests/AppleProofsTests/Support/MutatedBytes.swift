import TestSupport

/// Makes hostile bytes from genuine bytes.
struct MutatedBytes {
    private var random: SeededRandom
    private let corpus: [[UInt8]]

    init(_ corpus: [[UInt8]], seed: UInt64) {
        self.corpus = corpus
        random = SeededRandom(seed: seed)
    }

    /// The bytes that most often break lengths, tags and numbers.
    private static let telling: [UInt8] = [
        0, 1, 2, 4, 0x1F, 0x22, 0x24, 0x30, 0x31, 0x5C, 0x7F, 0x80, 0x81, 0x84, 0x88, 0xA0, 0xFF,
    ]

    mutating func next() -> [UInt8] {
        var bytes = random.pick(corpus)
        for _ in 0...random.below(4) where !bytes.isEmpty {
            let place = random.below(bytes.count)
            switch random.below(8) {
            case 0: bytes[place] ^= 1 << UInt8(random.below(8))
            case 1: bytes[place] = random.pick(Self.telling)
            case 2: bytes.removeSubrange(place...)
            case 3: bytes.removeSubrange(place..<min(place + 1 + random.below(40), bytes.count))
            case 4: bytes.insert(contentsOf: (0..<random.below(20)).map { _ in random.pick(Self.telling) }, at: place)
            case 5:
                // A piece of one receipt replaces a piece of another.
                let donor = random.pick(corpus)
                let start = random.below(donor.count)
                let piece = donor[start..<min(start + 1 + random.below(300), donor.count)]
                bytes.replaceSubrange(place..<min(place + piece.count, bytes.count), with: piece)
            case 6:
                let piece = Array(bytes[place..<min(place + 1 + random.below(100), bytes.count)])
                for _ in 0..<random.below(8) { bytes.insert(contentsOf: piece, at: place) }
            default:
                // The mutation changes a length: most bytes with these values begin a length.
                if let length = bytes[place...].firstIndex(where: { $0 == 0x82 || $0 == 0x81 }),
                    length + 1 < bytes.count
                {
                    bytes[length + 1] = random.pick(Self.telling)
                }
            }
        }
        return bytes
    }
}
