/// A point in time: milliseconds since 1970-01-01T00:00:00Z, as Kafka and Apple count them.
public struct Timestamp: Sendable, Hashable, Comparable {
    public let milliseconds: Int64

    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }

    /// Saturates instead of trapping: the operands may come from outside.
    public func adding(milliseconds delta: Int64) -> Timestamp {
        let (sum, overflow) = milliseconds.addingReportingOverflow(delta)
        return Timestamp(milliseconds: overflow ? (delta < 0 ? .min : .max) : sum)
    }

    static let millisecondsPerDay: Int64 = 86_400_000

    /// The UTC day, counted from 1970-01-01. Times outside the years 0001 to 9999 count as the nearest day inside.
    public var daysSinceEpoch: Int32 {
        let day = milliseconds.flooredQuotient(by: Self.millisecondsPerDay)
        return Int32(min(max(day, CivilDate.firstDay), CivilDate.lastDay))
    }

    /// RFC 3339 in UTC with milliseconds, `2026-11-20T09:30:00.000Z`. Years are kept within 0001 to 9999.
    public var rfc3339: String {
        let first = CivilDate.firstDay * Self.millisecondsPerDay
        let last = (CivilDate.lastDay + 1) * Self.millisecondsPerDay - 1
        let clamped = min(max(milliseconds, first), last)
        let day = clamped.flooredQuotient(by: Self.millisecondsPerDay)
        let rest = Int(clamped - day * Self.millisecondsPerDay)
        let date = CivilDate(daysSinceEpoch: day)
        return String(unsafeUninitializedCapacity: 24) { buffer in
            func digits(_ value: Int, at start: Int, count: Int) {
                var value = value
                for index in stride(from: start + count - 1, through: start, by: -1) {
                    buffer[index] = UInt8(ascii: "0") + UInt8(value % 10)
                    value /= 10
                }
            }
            digits(date.year, at: 0, count: 4)
            digits(date.month, at: 5, count: 2)
            digits(date.day, at: 8, count: 2)
            digits(rest / 3_600_000, at: 11, count: 2)
            digits(rest / 60_000 % 60, at: 14, count: 2)
            digits(rest / 1000 % 60, at: 17, count: 2)
            digits(rest % 1000, at: 20, count: 3)
            for (index, character) in [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":"), (19, "."), (23, "Z")]
                as [(Int, Unicode.Scalar)]
            {
                buffer[index] = UInt8(ascii: character)
            }
            return 24
        }
    }
}

/// Days and dates of the proleptic Gregorian calendar, after Howard Hinnant's published day-count algorithms.
struct CivilDate: Equatable {
    var year: Int
    var month: Int
    var day: Int

    static let firstDay: Int64 = -719_162  // 0001-01-01
    static let lastDay: Int64 = 2_932_896  // 9999-12-31

    init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    init(daysSinceEpoch: Int64) {
        let shifted = Int(daysSinceEpoch) + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    var daysSinceEpoch: Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return Int64(era * 146_097 + dayOfEra - 719_468)
    }
}

extension Int64 {
    func flooredQuotient(by divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}
