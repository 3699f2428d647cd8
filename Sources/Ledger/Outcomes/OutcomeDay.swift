import Fulfillment
import NamesAndTimes

/// A UTC day of records, which has its own partition of the outcomes table.
package struct OutcomeDay: Hashable, Comparable {
    package let sinceEpoch: Int32

    /// The partition for all days without a partition of their own. Its rows have the day 1 January of the year 1.
    package static let apart = OutcomeDay(sinceEpoch: -719_162)
    /// The number of days before today that have their own partition, if outcomes are kept that long. Old records of a
    /// topic need these partitions. `daysAhead` is the number of such days after today. Partitions are created early,
    /// because no partition can be created while a backup reads, which may take days.
    static let daysBehind: Int32 = 30
    static let daysAhead: Int32 = 7

    /// Selects the partition of a record's outcome.
    /// - Parameters:
    ///   - day: the day of the record's timestamp.
    ///   - today: the day of the decision. Days far from it have no partition.
    init(of day: Int32, decidedOn today: Int32) {
        let isNear = (today - Self.daysBehind...today + Self.daysAhead).contains(day)
        sinceEpoch = isNear ? day : Self.apart.sinceEpoch
    }

    init(sinceEpoch: Int32) {
        self.sinceEpoch = sinceEpoch
    }

    init(of time: Timestamp) {
        sinceEpoch = time.daysSinceEpoch
    }

    /// Reads the day from a partition's name; nil for another table.
    init?(table: String) {
        let digits = table.dropFirst("outcomes_".count)
        let date = "\(digits.prefix(4))-\(digits.dropFirst(4).prefix(2))-\(digits.suffix(2))"
        guard table.hasPrefix("outcomes_"), digits.count == 8, let time = Timestamp(rfc3339: date + "T00:00:00Z")
        else { return nil }
        self.init(of: time)
    }

    package var table: String {
        if self == .apart { return "outcomes_apart" }
        let date = Timestamp(milliseconds: Int64(sinceEpoch) * 86_400_000).rfc3339.prefix(10)
        return "outcomes_" + date.replacing("-", with: "")
    }

    package static func < (left: OutcomeDay, right: OutcomeDay) -> Bool { left.sinceEpoch < right.sinceEpoch }
}
