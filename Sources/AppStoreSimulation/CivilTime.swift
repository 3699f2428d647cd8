/// A date on the proleptic Gregorian calendar, for Apple's three forms; Foundation's formatters cost tens of
/// microseconds each and an answer holds dozens of dates.
struct CivilTime: Equatable {
    var year: Int
    var month: Int
    var day: Int
    var hour: Int
    var minute: Int
    var second: Int

    /// Years 1 to 9999: what has four digits. Anything outside is clamped.
    private static let range: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

    /// Source of the algorithm: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
    init(secondsSince1970: Int64) {
        let seconds = Int(min(max(secondsSince1970, Self.range.lowerBound), Self.range.upperBound))
        let days = Self.floorDivide(seconds, 86_400)
        let secondOfDay = seconds - days * 86_400
        let shifted = days + 719_468
        let era = Self.floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        hour = secondOfDay / 3600
        minute = secondOfDay / 60 % 60
        second = secondOfDay % 60
    }

    static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = floorDivide(shiftedYear, 400)
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Seconds to add to UTC for America/Los_Angeles, which Apple's `_pst` dates are in; the rule in force since 2007
    /// (second Sunday of March 10:00 UTC to first Sunday of November 09:00 UTC), older than the first receipts.
    static func losAngelesOffset(secondsSince1970: Int64) -> Int64 {
        let time = CivilTime(secondsSince1970: secondsSince1970)
        // Far from the changes there is nothing to work out.
        if (4...10).contains(time.month) { return -7 * 3600 }
        if time.month != 3, time.month != 11 { return -8 * 3600 }
        let year = time.year
        let start = (firstSunday(year: year, month: 3) + 7) * 86_400 + 10 * 3600
        let end = firstSunday(year: year, month: 11) * 86_400 + 9 * 3600
        return (start..<end).contains(Int(clamping: secondsSince1970)) ? -7 * 3600 : -8 * 3600
    }

    /// Days since 1970; day 0 was a Thursday.
    private static func firstSunday(year: Int, month: Int) -> Int {
        let first = daysSince1970(year: year, month: month, day: 1)
        let weekday = ((first + 4) % 7 + 7) % 7
        return first + (7 - weekday) % 7
    }

    private static func floorDivide(_ value: Int, _ divisor: Int) -> Int {
        value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor)
    }
}

extension CivilTime {
    /// Writes the 19 characters of `2023-06-28 00:55:52`.
    func write(to output: UnsafeMutableRawBufferPointer, separator: UInt8) {
        func put(_ value: Int, _ offset: Int) {
            output[offset] = UInt8(48 + value / 10 % 10)
            output[offset + 1] = UInt8(48 + value % 10)
        }
        put(year / 100, 0)
        put(year, 2)
        put(month, 5)
        put(day, 8)
        put(hour, 11)
        put(minute, 14)
        put(second, 17)
        output[4] = 0x2D
        output[7] = 0x2D
        output[10] = separator
        output[13] = 0x3A
        output[16] = 0x3A
    }

    func text(separator: UInt8 = 0x20) -> String {
        withUnsafeTemporaryAllocation(byteCount: 19, alignment: 1) {
            write(to: $0, separator: separator)
            return String(decoding: $0, as: UTF8.self)
        }
    }

    /// `2023-06-28T00:55:52Z`, the form inside app receipts.
    static func rfc3339(milliseconds: Int64) -> String {
        CivilTime(secondsSince1970: milliseconds / 1000).text(separator: 0x54) + "Z"
    }

    /// Milliseconds since 1970 of `2023-06-28T00:55:52Z`; nil for anything else, the empty string included.
    static func milliseconds(rfc3339 text: ArraySlice<UInt8>) -> Int64? {
        guard text.count >= 20, text.last == 0x5A else { return nil }
        func number(_ offset: Int, _ length: Int) -> Int? {
            var value = 0
            for index in (text.startIndex + offset)..<(text.startIndex + offset + length) {
                guard (0x30...0x39).contains(text[index]) else { return nil }
                value = value * 10 + Int(text[index]) - 0x30
            }
            return value
        }
        guard let year = number(0, 4), let month = number(5, 2), (1...12).contains(month), let day = number(8, 2),
            let hour = number(11, 2), let minute = number(14, 2), let second = number(17, 2)
        else { return nil }
        let days = daysSince1970(year: year, month: month, day: day)
        return Int64(days * 86_400 + hour * 3600 + minute * 60 + second) * 1000
    }
}
