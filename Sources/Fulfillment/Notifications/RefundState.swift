import NamesAndTimes

/// One report of Apple's: a refund, or the reversal of one.
public struct RefundWord: Sendable, Equatable {
    /// The time of the report: the signing time of its notification, or the date of a refund without a notification.
    public let time: Timestamp
    /// The refunded total, or the refund that Apple still shows beside a reversal; nil if Apple shows none.
    public let total: GrantRevocations.Revocation?
    public let isReversal: Bool
    /// True if a notification made the report and `time` is its signing time.
    public let isTold: Bool

    public init(
        time: Timestamp, total: GrantRevocations.Revocation?, isReversal: Bool = false, isTold: Bool = true
    ) {
        self.time = time
        self.total = total
        self.isReversal = isReversal
        self.isTold = isTold
    }

    /// Makes the report of a refund of which only the refund's own date is known.
    public init(shown total: GrantRevocations.Revocation) {
        self.init(time: total.at, total: total, isTold: false)
    }
}

/// Apple's reports about a transaction's refunds, sorted by time. The refund in force follows from the reports, in
/// whatever order they arrived.
public struct RefundState: Sendable, Equatable {
    /// The most reports that are kept. If there are more, the oldest are forgotten.
    static let mostWords = 100

    public private(set) var words: [RefundWord] = []
    /// The refund in force; nil if nothing is refunded now.
    public private(set) var revocation: GrantRevocations.Revocation?
    /// The id of the subscription period; nil without one. Several transactions may have the same period.
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

    /// Enters a report in its place by time.
    /// - Returns: whether the report is the newest.
    mutating func add(_ word: RefundWord) -> Bool {
        let word = dated(word)
        if word.isTold || !words.contains(word) { insert(word) }
        return words.last == word
    }

    /// Enters the reports about another id of the same period.
    mutating func add(contentsOf other: RefundState) {
        for word in other.words where !words.contains(word) { insert(word) }
    }

    private mutating func insert(_ word: RefundWord) {
        words.insert(word, at: (words.lastIndex { $0.time <= word.time } ?? -1) + 1)
        words.removeFirst(max(0, words.count - Self.mostWords))
        revocation = Self.revocation(after: words)
    }

    /// Returns the report, with the refund's own date if it may be about a refund that Apple has reversed since.
    ///
    /// Apple may sign a retried notification anew. So if the refund is older than the last reversal and the report is
    /// newer, the report may be about the reversed refund. If there are already as many reports of refunds from before
    /// as there are reversals, the report is about another refund.
    private func dated(_ word: RefundWord) -> RefundWord {
        guard !word.isReversal, word.isTold, let total = word.total,
            let last = words.lastIndex(where: \.isReversal), total.at < words[last].time, words[last].time <= word.time
        else { return word }
        let reversals = words.count { $0.isReversal }
        let told = words.count { !$0.isReversal && $0.isTold && $0.total.map { $0.at < words[last].time } ?? false }
        return told >= reversals ? word : RefundWord(shown: total)
    }

    /// Returns the refund in force after the reports. It is the largest total that no reversal has removed, because
    /// each refund's total includes the smaller ones before.
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

    /// Removes the newest total, which Apple reversed, and every total that is not smaller. A small total that came
    /// after a larger one shows that Apple had reversed the larger one. The reversal of a whole refund leaves nothing.
    /// - Parameter left: the refund that Apple shows beside the reversal. It stays if it is a part and differs from the
    ///   newest total. If Apple shows none, the totals that are smaller than the newest stay.
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
