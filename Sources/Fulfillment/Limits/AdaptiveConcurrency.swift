/// The limit of requests under way at once, adapted to the results of the last requests.
///
/// If the limit is 16, for example, a round ends after 16 results. Under load a round lasts about as long as one
/// request. A round with trouble lowers the limit. A round without trouble raises the limit if the requests under way
/// reached it. At first the limit doubles. After trouble it grows by a tenth, and then faster with each good round.
///
/// While Apple answers some requests, the limit does not fall below `start`. For Apple, `start` requests at once are no
/// load. If these requests fail, the cause is their proofs, or a fault at Apple that fewer requests would not mend.
public struct AdaptiveConcurrency: Sendable {
    public enum Outcome: Sendable {
        case fine
        /// A time-out, a lost connection, a 429 or a 5xx.
        case overload
        /// The result says nothing about Apple; the request was cancelled, for example.
        case unknown
    }

    /// The first limit, unless the maximum is lower. Four good rounds raise the limit from `start` to the default
    /// maximum, 256.
    public static let start = 16
    /// The largest share of failures in a round without trouble. Every large service has a few failures.
    static let toleratedShare = 0.05
    private static let firstGrowthAfterTrouble = 0.1
    /// After this many failures in a row the limit may fall below `start`, because Apple seems to answer no request.
    static let failuresOfAll = 64

    public let maximum: Int
    private var exact: Double
    private var growth = 1.0
    private var nextRequest: UInt64 = 0
    /// The number of the last request that began before the limit was last lowered or restarted. The results of this
    /// request and of earlier requests do not count.
    private var lastForgotten: UInt64 = 0
    private var wasReached = false
    private var fine = 0
    private var overloads = 0
    private var overloadsInARow = 0

    /// - Parameter maximum: the highest limit, from the setting; a value below 1 counts as 1.
    public init(maximum: Int) {
        self.maximum = max(1, maximum)
        exact = Double(min(Self.start, self.maximum))
    }

    /// The limit, from 1 to `maximum`.
    public var limit: Int { Int(exact) }

    /// Counts a request that begins.
    /// - Parameter underWay: the number of requests under way, including this one.
    /// - Returns: the request's number, for `ended`.
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

    /// Sets the limit to the first limit, because Apple answers again. Results of requests under way do not count.
    public mutating func restart() {
        exact = Double(min(Self.start, maximum))
        growth = 1
        lastForgotten = nextRequest
        beginRound()
    }

    /// Lowers the limit to `start`, because Apple asks for a pause. So the worker sends no burst after the pause.
    public mutating func calm() {
        exact = min(exact, Double(Self.start))
        lastForgotten = nextRequest
        beginRound()
    }

    /// The lowest limit while Apple answers some requests.
    private var lowest: Double { Double(min(Self.start, maximum)) }

    private mutating func beginRound() {
        wasReached = false
        fine = 0
        overloads = 0
    }
}
