import Fulfillment
import Timestamps

/// A UTC day of records, and the partition of the outcomes that holds it.
struct OutcomeDay: Hashable, Comparable {
    let sinceEpoch: Int32

    init(sinceEpoch: Int32) {
        self.sinceEpoch = sinceEpoch
    }

    init(of time: Timestamp) {
        sinceEpoch = time.daysSinceEpoch
    }

    /// Nil where the table is no day's.
    init?(table: String) {
        let digits = table.dropFirst("outcomes_".count)
        let date = "\(digits.prefix(4))-\(digits.dropFirst(4).prefix(2))-\(digits.suffix(2))"
        guard table.hasPrefix("outcomes_"), digits.count == 8, let time = Timestamp(rfc3339: date + "T00:00:00Z")
        else { return nil }
        self.init(of: time)
    }

    var table: String {
        let date = Timestamp(milliseconds: Int64(sinceEpoch) * 86_400_000).rfc3339.prefix(10)
        return "outcomes_" + date.replacing("-", with: "")
    }

    static func < (left: OutcomeDay, right: OutcomeDay) -> Bool { left.sinceEpoch < right.sinceEpoch }
}
