import Foundation
import Fulfillment
import NamesAndTimes

extension FuzzTarget {
    /// `submitted_at`, the dates of receipts and the catalog's `cutover`.
    static let timestamp = FuzzTarget(
        name: "timestamp",
        seeds: {
            [
                "2026-11-01T00:00:00Z", "2026-11-01t23:59:60.123456+14:00", "0001-01-01T00:00:00-23:59",
                "9999-12-31T23:59:59Z",
                "2024-02-29 12:00:00.5z", "2023-02-29T00:00:00Z",
            ].map { Array($0.utf8) }
        },
        check: { bytes in
            if bytes.count == 8 {
                let any = Timestamp(milliseconds: Int64(truncatingIfNeeded: bytes.reduce(0) { $0 << 8 | UInt64($1) }))
                let written = any.rfc3339
                mustHold(Timestamp(rfc3339: written)?.rfc3339 == written, "every time, however far, is written as one")
                _ = any.daysSinceEpoch
            }
            let text = String(decoding: bytes, as: UTF8.self)
            guard let time = Timestamp(rfc3339: text) else { return }
            mustHold((20...).contains(text.utf8.count), "a date and a time have twenty characters at least")
            let written = time.rfc3339
            guard let again = Timestamp(rfc3339: written) else { fatalError("what was written is read") }
            mustHold(again.rfc3339 == written, "what was written reads as it was")
            // An offset may move the time out of the years 0001 to 9999, which are all that `rfc3339` can write.
            if time != again {
                mustHold(text.hasPrefix("0001-01-01") || text.hasPrefix("9999-12-31"), "only the ends are clamped")
            }
            mustHold(again.daysSinceEpoch == time.daysSinceEpoch, "a time lies on its day")
        },
        families: [.repeating("1", after: "2026-11-01T00:00:00.", before: "Z"), .repeating("2026-")],
        words: ["Z", "+00:00", "T", ".999"])
}
