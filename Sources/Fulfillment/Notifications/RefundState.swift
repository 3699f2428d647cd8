import NamesAndTimes

/// One report of Apple's: a refund, or the reversal of one.
public struct RefundWord: Sendable, Equatable {
    /// The time of the report: the signing time of the report's notification, or the refund's date if there was no
    /// notification.
    public let time: Timestamp
    /// The refunded total. If the report is a reversal: the refund that Apple still shows; nil if Apple shows none.
    public let total: GrantRevocations.Revocation?
    public let isReversal: Bool
    /// True if the report comes from a notification and `time` is the notification's signing time.
    public let isTold: Bool

    public init(
        time: Timestamp, total: GrantRevocations.Revocation?, isReversal: Bool = false, isTold: Bool = true
    ) {
        self.time = time
        self.total = total
        self.isReversal = isReversal
        self.isTold = isTold
    }

    /// Makes the report of a refund that has only its own date, and no notification.
    public init(shown total: GrantRevocations.Revocation) {
        self.init(time: total.at, total: total, isTold: false)
    }
}

/// Apple's reports about a transaction's refunds, sorted by time. The reports determine which refund is valid now; the
/// order in which they arrived does not matter.
public struct RefundState: Sendable, Equatable {
    /// The most reports that receiptd keeps. If there are more, receiptd forgets the oldest.
    static let mostWords = 100

    public private(set) var words: [RefundWord] = []
    /// The refund that is valid after all reports; nil if there is none.
    public private(set) var revocation: GrantRevocations.Revocation?
    /// The id of the transaction's subscription period; nil if it has none. Several transactions may have one period.
    public var period: StoreTransactionID?

    /// - Parameter words: the reports, oldest first.
    public init(words: [RefundWord] = [], period: StoreTransactionID? = nil) {
        self.words = words
        self.period = period
        revocation = Self.revocation(after: words)
    }

    /// The time of the newest report; nil if there is none.
    public var signedAt: Timestamp? { words.last?.time }
    public var revokedAt: Timestamp? { revocation?.at }
    public var reason: Reason? { revocation?.reason }

    /// Inserts a report at its place by time.
    /// - Returns: whether the report is the newest.
    mutating func add(_ word: RefundWord) -> Bool {
        let word = dated(word)
        if word.isTold || !words.contains(word) { insert(word) }
        return words.last == word
    }

    /// Adds the reports of another state, for example of another transaction of the same period.
    mutating func add(contentsOf other: RefundState) {
        for word in other.words where !words.contains(word) { insert(word) }
    }

    private mutating func insert(_ word: RefundWord) {
        words.insert(word, at: (words.lastIndex { $0.time <= word.time } ?? -1) + 1)
        words.removeFirst(max(0, words.count - Self.mostWords))
        revocation = Self.revocation(after: words)
    }

    /// Returns the report. If the report may be about a refund that Apple has reversed, the report's time becomes the
    /// refund's own date.
    ///
    /// Apple may sign a retried notification anew. For example, the reversal of a refund arrives first. Then the
    /// refund's own notification arrives, with a later signing time than the reversal. Such a report is newer than the
    /// last reversal, but its refund is older than that reversal.
    ///
    /// But such a report may also be about a further refund, which Apple has not reversed. receiptd assumes a further
    /// refund if it knows at least as many refunds from before the last reversal as it knows reversals.
    private func dated(_ word: RefundWord) -> RefundWord {
        guard !word.isReversal, word.isTold, let total = word.total,
            let last = words.lastIndex(where: \.isReversal), total.at < words[last].time, words[last].time <= word.time
        else { return word }
        let reversals = words.count { $0.isReversal }
        let told = words.count { !$0.isReversal && $0.isTold && $0.total.map { $0.at < words[last].time } ?? false }
        return told >= reversals ? word : RefundWord(shown: total)
    }

    /// Returns the refund that is valid after the reports: the largest total that no reversal has removed. The largest
    /// total is enough, because a refund's total includes all earlier refunds.
    private static func revocation(after words: [RefundWord]) -> GrantRevocations.Revocation? {
        var parts: [GrantRevocations.Revocation] = []
        for word in words {
            if word.isReversal {
                reverse(&parts, leaving: word.total)
            } else if let total = word.total, !parts.contains(total) {
                parts.removeAll { $0.milliPercent == total.milliPercent }
                parts.append(total)
            }
        }
        return parts.max { $0.milliPercent < $1.milliPercent }
    }

    /// Removes the newest total, which Apple reversed, and every total that is not smaller. If a larger total is older
    /// than the newest total, Apple must have reversed the larger total before. The reversal of a whole refund removes
    /// all totals.
    /// - Parameter left: the refund that Apple still shows in the reversal. If `left` is a part and differs from the
    ///   newest total, `left` stays, together with smaller totals. Otherwise only the totals stay that are smaller than
    ///   the newest total.
    private static func reverse(
        _ parts: inout [GrantRevocations.Revocation], leaving left: GrantRevocations.Revocation?
    ) {
        let last = parts.last
        if let left, left.milliPercent < GrantRevocations.whole, left.milliPercent != last?.milliPercent {
            parts = parts.filter { $0.milliPercent < left.milliPercent } + [left]
        } else if let last {
            parts = parts.filter { $0.milliPercent < last.milliPercent && last.milliPercent < GrantRevocations.whole }
        }
    }
}
