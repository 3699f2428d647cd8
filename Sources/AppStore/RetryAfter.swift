import NamesAndTimes

/// Reads the `Retry-After` header in RFC 9110's two forms, and in Apple's form, the Unix time in milliseconds.
///
/// `AppleLimits+RetryAfter.swift` describes the effect of the header on all replicas.
public enum RetryAfter {
    /// The longest wait in milliseconds that receiptd accepts from a header: one hour.
    public static let maximumMilliseconds: Int64 = 3_600_000

    /// A number above this one is a point in time in milliseconds (1973 and later). Any other number is a number of
    /// seconds, at most about 3,000 years.
    private static let smallestPointInTime: Int64 = 100_000_000_000

    /// Returns the time from which receiptd may ask Apple again, at most an hour after `now`. Returns nil if the header
    /// has none of the three forms.
    /// - Parameters:
    ///   - text: the header's value.
    ///   - date: the response's `Date` header, from which seconds count.
    ///   - now: the time from which seconds count if `date` is missing or unreadable.
    public static func parse(_ text: String, date: String?, now: Timestamp) -> Timestamp? {
        guard let asked = pointInTime(text, date: date, now: now) else { return nil }
        return min(asked, now.adding(milliseconds: maximumMilliseconds))
    }

    private static func pointInTime(_ text: String, date: String?, now: Timestamp) -> Timestamp? {
        let bytes = text.utf8.drop { $0 == 0x20 || $0 == 0x09 }
        let trimmed = String(decoding: bytes.reversed().drop { $0 == 0x20 || $0 == 0x09 }.reversed(), as: UTF8.self)
        guard !trimmed.isEmpty, trimmed.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
            return Timestamp(httpDate: trimmed)
        }
        // A number beyond 64 bits means more than an hour, both as seconds and as a point in time.
        guard let number = Int64(trimmed) else { return Timestamp(milliseconds: .max) }
        if number > smallestPointInTime { return Timestamp(milliseconds: number) }
        return (date.flatMap { Timestamp(httpDate: $0) } ?? now).adding(milliseconds: number * 1000)
    }
}
