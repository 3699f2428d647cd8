import NamesAndTimes

/// The delay before an undecided submission is asked for again: exponential with full jitter.
public struct RetryDelay: Sendable, Equatable {
    public var initialSeconds: Double
    public var maximumSeconds: Double
    /// The seconds over which Apple is asked `Judge.triesInDoubt` times for an answer that it may change.
    public var doubtSeconds: Double

    public init(initialSeconds: Double = 0.5, maximumSeconds: Double = 300, doubtSeconds: Double = 600) {
        self.initialSeconds = initialSeconds
        self.maximumSeconds = maximumSeconds
        self.doubtSeconds = doubtSeconds
    }

    /// Seconds before the next try after trouble.
    /// - Parameters:
    ///   - failures: tries that ended in trouble so far, at least 1.
    ///   - jitter: drawn evenly from 0..<1.
    public func afterTrouble(failures: Int, jitter: Double) -> Double {
        let doublings = min(max(failures, 1), 63) - 1
        let ceiling = min(maximumSeconds, Double(sign: .plus, exponent: doublings, significand: initialSeconds))
        return ceiling * jitter
    }

    /// Returns the seconds before the next try of due work after a try without a verdict: six hours at most, or longer
    /// if Apple asks for that.
    /// - Parameters:
    ///   - tries: the number of tries so far, including that one.
    ///   - trouble: Apple's trouble in place of a verdict; nil if there was none.
    public func afterTry(_ tries: Int, _ trouble: AppleAnswer.Trouble?, jitter: Double, now: Timestamp) -> Double {
        let delay = min(ParkingPolicy.longestSeconds, afterTrouble(failures: tries, jitter: jitter))
        let rest = trouble?.retryNotBefore.map { Double($0.milliseconds - now.milliseconds) / 1000 } ?? 0
        return max(ParkingPolicy.minimumDelay, delay, rest)
    }

    /// The seconds before a doubtful answer is asked for again. The tries are spread evenly over `doubtSeconds`.
    public var inDoubt: Double { doubtSeconds / Double(Judge.triesInDoubt - 1) }

    /// The seconds over which a transaction that neither environment knows is asked for.
    static let unknownTransactionSeconds = 86_400.0

    /// Returns the seconds before a transaction that neither environment knows is asked for again. Each wait is four
    /// times the one before, from a quarter of a minute on: most fresh transactions appear soon, some take a day.
    /// - Parameter doubts: the number of times that it was unknown so far, at least 1.
    static func whileUnknown(doubts: Int) -> Double {
        let waits = Judge.triesForUnknownTransaction - 1
        let unit = unknownTransactionSeconds / Double(((1 << (2 * waits)) - 1) / 3)
        return unit * Double(1 << (2 * (min(max(doubts, 1), waits) - 1)))
    }
}
