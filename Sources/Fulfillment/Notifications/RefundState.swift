import NamesAndTimes

/// One of Apple's words about a refund.
public struct RefundWord: Sendable, Equatable {
    /// When Apple said it: the signing time of its notification. A refund that another answer shows has its own date.
    public let time: Timestamp
    /// The refunded total; of a reversal what Apple shows beside it. Nil: it shows nothing.
    public let total: GrantRevocations.Revocation?
    public let isReversal: Bool
    /// Whether a notification that was signed at `time` told it.
    public let isTold: Bool

    public init(
        time: Timestamp, total: GrantRevocations.Revocation?, isReversal: Bool = false, isTold: Bool = true
    ) {
        self.time = time
        self.total = total
        self.isReversal = isReversal
        self.isTold = isTold
    }

    /// A refund that is known by its own date alone.
    public init(shown total: GrantRevocations.Revocation) {
        self.init(time: total.at, total: total, isTold: false)
    }
}

/// Apple's words about a refunded transaction, in the order in which Apple said them. What is refunded follows from
/// them, whatever the order in which they came.
public struct RefundState: Sendable, Equatable {
    /// The oldest words beyond are forgotten.
    static let mostWords = 100

    public private(set) var words: [RefundWord] = []
    /// The refund in force. Nil: nothing is refunded now.
    public private(set) var revocation: GrantRevocations.Revocation?
    /// The period of a subscription, which may have several ids.
    public var period: StoreTransactionID?

    /// - Parameter words: the older ones first.
    public init(words: [RefundWord] = [], period: StoreTransactionID? = nil) {
        self.words = words
        self.period = period
        revocation = Self.revocation(after: words)
    }

    /// When Apple said the newest word. Nil: there is none.
    public var signedAt: Timestamp? { words.last?.time }
    public var revokedAt: Timestamp? { revocation?.at }
    public var reason: Reason? { revocation?.reason }

    /// Enters a word in its place.
    /// - Returns: whether it is Apple's newest.
    mutating func add(_ word: RefundWord) -> Bool {
        let word = dated(word)
        if word.isTold || !words.contains(word) { insert(word) }
        return words.last == word
    }

    /// Enters the words about another id of the same period.
    mutating func add(contentsOf other: RefundState) {
        for word in other.words where !words.contains(word) { insert(word) }
    }

    private mutating func insert(_ word: RefundWord) {
        words.insert(word, at: (words.lastIndex { $0.time <= word.time } ?? -1) + 1)
        words.removeFirst(max(0, words.count - Self.mostWords))
        revocation = Self.revocation(after: words)
    }

    /// Apple may sign a retry anew: a refund that was made before a reversal and is told of after it may be the one that was
    /// reversed, whenever that is signed. Where a refund from before it was told of for every reversal, another
    /// notification is another refund.
    private func dated(_ word: RefundWord) -> RefundWord {
        guard !word.isReversal, word.isTold, let total = word.total,
            let last = words.lastIndex(where: \.isReversal), total.at < words[last].time, words[last].time <= word.time
        else { return word }
        let reversals = words.count { $0.isReversal }
        let told = words.count { !$0.isReversal && $0.isTold && $0.total.map { $0.at < words[last].time } ?? false }
        return told >= reversals ? word : RefundWord(shown: total)
    }

    /// A refund that is not larger than another since the last reversal changes nothing.
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

    /// Apple reverses the newest part, and what is not smaller with it: a total that is smaller than one before shows that
    /// the larger was reversed, and the whole takes the place of all parts.
    /// - Parameter left: a part that Apple shows beside the reversal is what stays, unless it is as large as the one that is
    ///   reversed. Where it shows none, the smaller parts before stay.
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
