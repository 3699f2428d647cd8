import NamesAndTimes
import Operations

/// Formats a time for people, such as `27 Nov 2026 04:52:16 UTC`. The title of the element has the exact time.
enum ShownTime {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    static func text(_ time: Timestamp) -> String {
        let civil = CivilTime(time)
        let clock = [civil.hour, civil.minute, civil.second].map { $0 < 10 ? "0\($0)" : "\($0)" }
        return
            "\(civil.date.day) \(months[civil.date.month - 1]) \(civil.date.year) \(clock.joined(separator: ":")) UTC"
    }

    static func html(_ time: Timestamp) -> String {
        "<time datetime=\"\(time.rfc3339)\" title=\"\(time.rfc3339)\">\(text(time))</time>"
    }

    /// Returns the age in one unit, such as `3 days`.
    static func age(_ time: Timestamp, now: Timestamp = WallClock.now) -> String {
        let seconds = max(0, (now.milliseconds - time.milliseconds) / 1000)
        let (count, unit): (Int64, String) =
            switch seconds {
            case ..<120: (seconds, "second")
            case ..<7_200: (seconds / 60, "minute")
            case ..<172_800: (seconds / 3_600, "hour")
            default: (seconds / 86_400, "day")
            }
        return "\(count) \(unit)\(count == 1 ? "" : "s")"
    }
}
