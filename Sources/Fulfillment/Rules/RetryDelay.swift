/// When an undecided submission is asked for again: exponential with full jitter.
public struct RetryDelay: Sendable, Equatable {
    public var initialSeconds: Double
    public var maximumSeconds: Double
    /// Over which an answer that Apple may take back is asked for `Judge.triesInDoubt` times.
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

    /// Seconds before a doubtful answer is asked for again: the tries stand evenly over `doubtSeconds`.
    public var inDoubt: Double { doubtSeconds / Double(Judge.triesInDoubt - 1) }
}
