import NamesAndTimes

/// The time by which the rules judge a submission's purchases. This is the record's own time, so that no redelivery
/// changes the verdict. If the record's time is missing, is in the future, or is before a purchase in the record, the
/// rules use the time at which a worker first took the submission.
public struct RecordTime: Sendable, Equatable {
    /// The record's timestamp; nil if it is missing or in the future.
    private let told: Timestamp?
    /// The time at which a worker first took the submission. Equals `now` if the worker knows of no earlier try.
    private let taken: Timestamp
    private let now: Timestamp

    /// - Parameters:
    ///   - record: the record's own time; the Unix epoch and earlier times count as missing.
    ///   - takenAt: the time of the first try or of the hold; nil at the first decision.
    public init(_ record: Timestamp, takenAt: Timestamp? = nil, now: Timestamp) {
        told = record.milliseconds > 0 && record <= now ? record : nil
        taken = min(takenAt ?? now, now)
        self.now = now
    }

    /// Returns the time by which the rules judge a purchase.
    /// - Parameter carriedAt: the earliest time that a record with this purchase can have.
    public func judging(since carriedAt: Timestamp) -> Timestamp {
        [told, taken].compactMap(\.self).first { $0 >= carriedAt } ?? now
    }

    /// The time by which the rules judge an announced purchase: Apple's time, or `now` if Apple's time is in the
    /// future.
    var ofNotice: Timestamp { told ?? now }
}

extension Judge {
    /// Returns the time by which the rules judge a purchase of `receipt`.
    ///
    /// No record is older than the newest purchase in its receipt. Apple's answer may list later purchases, which say
    /// nothing about the record's time.
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
