/// The number of requests that may be under way at once, adapted to how the last ones ended.
///
/// A round is as many answers as the limit allows requests under way. Under load it lasts about as long as one answer
/// takes. A round with trouble lowers the limit. A round without trouble in which the limit was reached raises it:
/// twofold at first, a tenth after trouble, and then faster again with each good round.
///
/// While Apple answers some requests, the limit does not fall below its start. So few are no load for Apple: failures
/// then come from what was sent, or from a part of Apple that fewer requests would not help.
public struct AdaptiveConcurrency: Sendable {
    public enum Outcome: Sendable {
        case fine
        /// A time-out, a lost connection, a 429 or a 5xx.
        case overload
        /// The end says nothing about Apple, as that of a cancelled request.
        case unknown
    }

    /// The first limit, below the setting's maximum. From here four good rounds lead to the default of 256.
    public static let start = 16
    /// The share of failures in a round that is noise, as in every large service.
    static let toleratedShare = 0.05
    private static let firstGrowthAfterTrouble = 0.1
    /// The number of failures in a row that shows that Apple answers nobody.
    static let failuresOfAll = 64

    public let maximum: Int
    private var exact: Double
    private var growth = 1.0
    private var nextRequest: UInt64 = 0
    /// The number of the last request that began before the last step down. Requests up to it do not count any more.
    private var lastForgotten: UInt64 = 0
    private var wasReached = false
    private var fine = 0
    private var overloads = 0
    private var overloadsInARow = 0

    /// - Parameter maximum: the setting; less than 1 counts as 1.
    public init(maximum: Int) {
        self.maximum = max(1, maximum)
        exact = Double(min(Self.start, self.maximum))
    }

    /// The limit, from 1 to `maximum`.
    public var limit: Int { Int(exact) }

    /// - Parameter underWay: the requests under way, including this one.
    /// - Returns: the number that `ended` takes.
    public mutating func began(underWay: Int) -> UInt64 {
        if underWay >= limit { wasReached = true }
        nextRequest += 1
        return nextRequest
    }

    public mutating func ended(_ request: UInt64, _ outcome: Outcome) {
        guard request > lastForgotten else { return }
        switch outcome {
        case .fine:
            fine += 1
            overloadsInARow = 0
            exact = max(exact, lowest)
        case .overload:
            overloads += 1
            overloadsInARow = min(overloadsInARow + 1, Self.failuresOfAll)
        case .unknown: return
        }
        let results = fine + overloads
        guard results >= limit else { return }
        let share = Double(overloads) / Double(results)
        if share > Self.toleratedShare {
            let floor = overloadsInARow >= Self.failuresOfAll ? 1 : min(exact, lowest)
            exact = max(floor, exact * (share < 0.5 ? 0.8 : 0.5))
            growth = Self.firstGrowthAfterTrouble
            lastForgotten = nextRequest
        } else if wasReached {
            exact = min(Double(maximum), exact + max(1, exact * growth))
            growth = min(1, growth * 2)
        }
        beginRound()
    }

    /// Starts again with the first limit, because Apple is back. Requests under way do not count.
    public mutating func restart() {
        exact = Double(min(Self.start, maximum))
        growth = 1
        lastForgotten = nextRequest
        beginRound()
    }

    /// Lowers the limit to the first one at most, because Apple asks for a pause. The end of the pause is then no rush.
    public mutating func calm() {
        exact = min(exact, Double(Self.start))
        lastForgotten = nextRequest
        beginRound()
    }

    /// The limit's floor while Apple answers some.
    private var lowest: Double { Double(min(Self.start, maximum)) }

    private mutating func beginRound() {
        wasReached = false
        fine = 0
        overloads = 0
    }
}
