import AppStore
import Fulfillment
import NamesAndTimes

extension FuzzTarget {
    /// The header `Retry-After` and, after a line break, the header `Date` of the same answer.
    static let retryAfter = FuzzTarget(
        name: "retry-after",
        seeds: {
            [
                "120", "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
                "1763632800000",
                "60\nSun, 06 Nov 1994 08:49:37 GMT", " 5 ", "99999999999999999999", "-1", "",
            ].map { Array($0.utf8) }
        },
        check: { bytes in
            let parts = String(decoding: bytes, as: UTF8.self).split(
                separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
            for now in [
                Timestamp(milliseconds: 1_763_632_800_000), Timestamp(milliseconds: .max),
                Timestamp(milliseconds: .min),
            ] {
                guard
                    let until = RetryAfter.parse(
                        String(parts[0]), date: parts.count > 1 ? String(parts[1]) : nil, now: now)
                else { continue }
                mustHold(
                    until <= now.adding(milliseconds: RetryAfter.maximumMilliseconds),
                    "nobody is obeyed for longer than an hour")
            }
        },
        families: [.repeating("9"), .repeating(" "), .repeating("Sun, "), .repeating("é"), .repeating("-")],
        words: [" GMT", "Nov", "Sun, ", "08:49:37", "-94 "])
}
