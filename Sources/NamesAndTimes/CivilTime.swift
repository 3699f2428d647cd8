/// A point in time as date and time of day in UTC.
public struct CivilTime: Sendable, Equatable {
    public let date: CivilDate
    public let hour: Int
    public let minute: Int
    public let second: Int
    public let millisecond: Int

    /// The number of bytes that `write` writes.
    public static let length = 19

    /// Converts a time. A time outside of the years 0001 to 9999 becomes the nearest time inside.
    public init(_ time: Timestamp) {
        let first = CivilDate.firstDay * Timestamp.millisecondsPerDay
        let last = (CivilDate.lastDay + 1) * Timestamp.millisecondsPerDay - 1
        let clamped = min(max(time.milliseconds, first), last)
        let day = clamped.flooredQuotient(by: Timestamp.millisecondsPerDay)
        let rest = Int(clamped - day * Timestamp.millisecondsPerDay)
        date = CivilDate(daysSinceEpoch: day)
        hour = rest / 3_600_000
        minute = rest / 60_000 % 60
        second = rest / 1000 % 60
        millisecond = rest % 1000
    }

    /// Writes date and time to the second, such as `2026-11-20 09:30:00`.
    /// - Parameters:
    ///   - output: the buffer, of at least `length` bytes.
    ///   - separator: the byte between date and time.
    public func write(to output: UnsafeMutableRawBufferPointer, separator: UInt8) {
        func digits(_ value: Int, at start: Int, count: Int) {
            var value = value
            for index in stride(from: start + count - 1, through: start, by: -1) {
                output[index] = UInt8(ascii: "0") + UInt8(value % 10)
                value /= 10
            }
        }
        digits(date.year, at: 0, count: 4)
        output[4] = UInt8(ascii: "-")
        digits(date.month, at: 5, count: 2)
        output[7] = UInt8(ascii: "-")
        digits(date.day, at: 8, count: 2)
        output[10] = separator
        digits(hour, at: 11, count: 2)
        output[13] = UInt8(ascii: ":")
        digits(minute, at: 14, count: 2)
        output[16] = UInt8(ascii: ":")
        digits(second, at: 17, count: 2)
    }

    /// The text that `write` writes.
    public func text(separator: UInt8) -> String {
        String(unsafeUninitializedCapacity: Self.length) { buffer in
            write(to: UnsafeMutableRawBufferPointer(buffer), separator: separator)
            return Self.length
        }
    }
}
