extension Timestamp {
    /// The time in RFC 3339, in UTC with milliseconds: `2026-11-20T09:30:00.000Z`. A time outside of the years 0001 to
    /// 9999 becomes the nearest time inside.
    public var rfc3339: String {
        let time = CivilTime(self)
        return String(unsafeUninitializedCapacity: CivilTime.length + 5) { buffer in
            time.write(to: UnsafeMutableRawBufferPointer(buffer), separator: UInt8(ascii: "T"))
            buffer[19] = UInt8(ascii: ".")
            buffer[20] = UInt8(ascii: "0") + UInt8(time.millisecond / 100)
            buffer[21] = UInt8(ascii: "0") + UInt8(time.millisecond / 10 % 10)
            buffer[22] = UInt8(ascii: "0") + UInt8(time.millisecond % 10)
            buffer[23] = UInt8(ascii: "Z")
            return CivilTime.length + 5
        }
    }

    /// Reads an RFC 3339 date and time, such as `2026-11-01T00:00:00Z`, also with a fraction or an offset. Returns nil
    /// for other text.
    public init?(rfc3339 text: String) {
        self.init(rfc3339: Array(text.utf8))
    }

    /// Reads an RFC 3339 date and time from UTF-8. Returns nil for other text.
    public init?(rfc3339 text: [UInt8]) {
        var scanner = DigitScanner(bytes: text)
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
