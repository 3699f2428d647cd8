import NamesAndTimes

/// The time by which a submission's purchases are judged: its record's own, so that no redelivery changes the verdict. A
/// record's time that is missing, lies ahead, or is before what the record carries cannot be true. Then the time counts at
/// which the submission was taken.
public struct RecordTime: Sendable, Equatable {
    /// The record's timestamp; nil if it has none, or one in the future.
    private let told: Timestamp?
    /// The time at which the submission was first taken. It is now if nothing was kept of an earlier try.
    private let taken: Timestamp
    private let now: Timestamp

    /// - Parameters:
    ///   - record: the record's own time; the epoch and earlier times count as none.
    ///   - takenAt: the time of the first try or of the hold; nil at the first decision.
    public init(_ record: Timestamp, takenAt: Timestamp? = nil, now: Timestamp) {
        told = record.milliseconds > 0 && record <= now ? record : nil
        taken = min(takenAt ?? now, now)
        self.now = now
    }

    /// Returns the time by which a purchase is judged.
    /// - Parameter carriedAt: no record that carries the purchase can be older.
    public func judging(since carriedAt: Timestamp) -> Timestamp {
        [told, taken].compactMap(\.self).first { $0 >= carriedAt } ?? now
    }

    /// The time by which an announced purchase is judged, which is Apple's.
    var ofNotice: Timestamp { told ?? now }
}

extension Judge {
    /// Returns the time by which a purchase of `receipt` is judged.
    ///
    /// A receipt is made after all purchases in it, so that its newest one bounds the record's time too. Other
    /// purchases in Apple's answer may be newer, and say nothing about it.
    func time(of purchase: StorePurchase, in receipt: GenuineReceipt) -> Timestamp {
        if announced != nil { return recordTime.ofNotice }
        var carriedAt = purchase.purchasedAt
        if let createdAt = receipt.createdAt {
            let held = receipt.purchases.lazy.map(\.purchasedAt).filter { $0 <= createdAt }
            carriedAt = max(carriedAt, held.max() ?? carriedAt)
        }
        return recordTime.judging(since: carriedAt)
    }
}
