/// Reads the decimal fields of a date, which have fixed widths.
struct DigitScanner {
    let bytes: [UInt8]
    var index = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { index == bytes.count }

    mutating func number(digits: Int) -> Int? {
        guard index + digits <= bytes.count else { return nil }
        var value = 0
        for byte in bytes[index..<index + digits] {
            guard byte >= 0x30, byte <= 0x39 else { return nil }
            value = value * 10 + Int(byte - 0x30)
        }
        index += digits
        return value
    }

    mutating func take(_ alternatives: Unicode.Scalar...) -> Bool {
        guard index < bytes.count, alternatives.contains(where: { UInt8(ascii: $0) == bytes[index] }) else {
            return false
        }
        index += 1
        return true
    }

    mutating func fractionInMilliseconds() -> Int? {
        var value = 0
        var weight = 100
        let start = index
        while index < bytes.count, bytes[index] >= 0x30, bytes[index] <= 0x39 {
            value += Int(bytes[index] - 0x30) * weight
            weight /= 10
            index += 1
        }
        return index == start ? nil : value
    }
}
