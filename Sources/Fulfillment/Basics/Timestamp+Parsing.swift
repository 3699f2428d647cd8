extension Timestamp {
    /// Reads an RFC 3339 date and time (`2026-11-01T00:00:00Z`, fractions and offsets allowed). Nil where it is none.
    public init?(rfc3339 text: String) {
        var scanner = DigitScanner(bytes: Array(text.utf8))
        guard let year = scanner.number(digits: 4), scanner.take("-"), let month = scanner.number(digits: 2),
            scanner.take("-"), let day = scanner.number(digits: 2), scanner.take("T", "t", " "),
            let hour = scanner.number(digits: 2), scanner.take(":"), let minute = scanner.number(digits: 2),
            scanner.take(":"), let second = scanner.number(digits: 2)
        else { return nil }
        var milliseconds = 0
        if scanner.take(".") {
            guard let fraction = scanner.fractionInMilliseconds() else { return nil }
            milliseconds = fraction
        }
        var offsetMinutes = 0
        if !scanner.take("Z", "z") {
            let sign = scanner.take("+") ? 1 : scanner.take("-") ? -1 : 0
            guard sign != 0, let hours = scanner.number(digits: 2), scanner.take(":"),
                let minutes = scanner.number(digits: 2), hours < 24, minutes < 60
            else { return nil }
            offsetMinutes = sign * (hours * 60 + minutes)
        }
        guard scanner.isAtEnd, (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second <= 60,
            year > 0
        else { return nil }
        let date = CivilDate(year: year, month: month, day: day)
        guard CivilDate(daysSinceEpoch: date.daysSinceEpoch) == date else { return nil }
        let seconds = date.daysSinceEpoch * 86_400 + Int64(hour * 3600 + (minute - offsetMinutes) * 60 + second)
        self.init(milliseconds: seconds * 1000 + Int64(milliseconds))
    }
}

/// Fixed-width decimal fields of a date.
private struct DigitScanner {
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
