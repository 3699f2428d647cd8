import NamesAndTimes

/// The delay before a worker asks Apple about an undecided submission again: exponential, with full jitter.
public struct RetryDelay: Sendable, Equatable {
    public var initialSeconds: Double
    public var maximumSeconds: Double
    /// A worker asks Apple `Judge.triesInDoubt` times about a doubtful answer, spread over these seconds.
    public var doubtSeconds: Double

    public init(initialSeconds: Double = 0.5, maximumSeconds: Double = 300, doubtSeconds: Double = 600) {
        self.initialSeconds = initialSeconds
        self.maximumSeconds = maximumSeconds
        self.doubtSeconds = doubtSeconds
    }

    /// Returns the seconds before the next try after trouble.
    /// - Parameters:
    ///   - failures: the number of tries that ended in trouble so far, at least 1.
    ///   - jitter: a random number, uniform in 0..<1.
    public func afterTrouble(failures: Int, jitter: Double) -> Double {
        let doublings = min(max(failures, 1), 63) - 1
        let ceiling = min(maximumSeconds, Double(sign: .plus, exponent: doublings, significand: initialSeconds))
        return ceiling * jitter
    }

    /// Returns the seconds before the next try of due work, if the last try gave no verdict. The delay is at most six
    /// hours. If Apple's `Retry-After` ends later, the delay lasts until then.
    /// - Parameters:
    ///   - tries: the number of tries so far, including the last try.
    ///   - trouble: Apple's trouble at the last try; nil if there was none.
    public func afterTry(_ tries: Int, _ trouble: AppleAnswer.Trouble?, jitter: Double, now: Timestamp) -> Double {
        let delay = min(ParkingPolicy.longestSeconds, afterTrouble(failures: tries, jitter: jitter))
        let rest = trouble?.retryNotBefore.map { Double($0.milliseconds - now.milliseconds) / 1000 } ?? 0
        return max(ParkingPolicy.minimumDelay, delay, rest)
    }

    /// The seconds before a worker asks Apple again for a doubtful answer. The tries are spread evenly over
    /// `doubtSeconds`.
    public var inDoubt: Double { doubtSeconds / Double(Judge.triesInDoubt - 1) }

    /// The seconds over which a worker asks for a transaction that neither environment knows: a day.
    static let unknownTransactionSeconds = 86_400.0

    /// Returns the seconds before a worker asks again for a transaction that neither environment knows. The first wait
    /// is about 16 seconds. Each later wait is four times the wait before it. Most fresh transactions appear soon; some
    /// take a day.
    /// - Parameter doubts: the number of times that the transaction was unknown so far, at least 1.
    static func whileUnknown(doubts: Int) -> Double {
        let waits = Judge.triesForUnknownTransaction - 1
        let unit = unknownTransactionSeconds / Double(((1 << (2 * waits)) - 1) / 3)
        return unit * Double(1 << (2 * (min(max(doubts, 1), waits) - 1)))
    }
}
