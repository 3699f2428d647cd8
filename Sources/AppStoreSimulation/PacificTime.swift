import NamesAndTimes

/// The time zone America/Los_Angeles, in which Apple's `_pst` dates are.
enum PacificTime {
    /// Returns the milliseconds to add to UTC. The rule is in force since 2007 (second Sunday of March 10:00 UTC to
    /// first Sunday of November 09:00 UTC), before the first receipts.
    static func offset(at time: Timestamp) -> Int64 {
        let date = CivilTime(time).date
        let standard: Int64 = -8 * 3_600_000
        let daylight: Int64 = -7 * 3_600_000
        // Far from the changes there is nothing to work out.
        if (4...10).contains(date.month) { return daylight }
        if date.month != 3, date.month != 11 { return standard }
        let start = (firstSunday(year: date.year, month: 3) + 7) * 86_400_000 + 10 * 3_600_000
        let end = firstSunday(year: date.year, month: 11) * 86_400_000 + 9 * 3_600_000
        return (start..<end).contains(time.milliseconds) ? daylight : standard
    }

    /// Returns the time in the Pacific, as if it were UTC's.
    static func local(_ time: Timestamp) -> Timestamp { time.adding(milliseconds: offset(at: time)) }

    /// Returns the first Sunday of a month, in days since 1970. Day 0 was a Thursday.
    private static func firstSunday(year: Int, month: Int) -> Int64 {
        let first = CivilDate(year: year, month: month, day: 1).daysSinceEpoch
        let weekday = ((first + 4) % 7 + 7) % 7
        return first + (7 - weekday) % 7
    }
}
