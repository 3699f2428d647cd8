import NamesAndTimes

/// The time zone America/Los_Angeles, which Apple's `_pst` dates use.
enum PacificTime {
    /// Returns the milliseconds to add to UTC. Daylight saving time lasts from the second Sunday of March, 10:00 UTC,
    /// to the first Sunday of November, 09:00 UTC. This rule is from 2007, before the first receipts.
    static func offset(at time: Timestamp) -> Int64 {
        let date = CivilTime(time).date
        let standard: Int64 = -8 * 3_600_000
        let daylight: Int64 = -7 * 3_600_000
        // Only March and November have a change.
        if (4...10).contains(date.month) { return daylight }
        if date.month != 3, date.month != 11 { return standard }
        let start = (firstSunday(year: date.year, month: 3) + 7) * 86_400_000 + 10 * 3_600_000
        let end = firstSunday(year: date.year, month: 11) * 86_400_000 + 9 * 3_600_000
        return (start..<end).contains(time.milliseconds) ? daylight : standard
    }

    /// Returns a timestamp whose date and time of day in UTC are those of a clock in Los Angeles at `time`.
    static func local(_ time: Timestamp) -> Timestamp { time.adding(milliseconds: offset(at: time)) }

    /// Returns the first Sunday of a month, in days since 1970. Day 0 was a Thursday.
    private static func firstSunday(year: Int, month: Int) -> Int64 {
        let first = CivilDate(year: year, month: month, day: 1).daysSinceEpoch
        let weekday = ((first + 4) % 7 + 7) % 7
        return first + (7 - weekday) % 7
    }
}
