/// Holds requests back while too large a share of them fails, and finds out when that is over.
///
/// Times are seconds of any clock that only grows. What a request that began before the last change of state has to say
/// is not heard: it speaks of the past.
public struct CircuitBreaker: Sendable {
    public enum State: Sendable, Equatable {
        /// Everything passes. Can become: open.
        case closed
        /// Nothing passes before `until`. Can become: halfOpen, by the first that passes then.
        case open(until: Double)
        /// Probes pass. Can become: closed, when enough succeeded; open, when one failed.
        case halfOpen
    }

    /// The right to send one request. Give it back by `succeeded`, `failed` or `withdrew`.
    public struct Pass: Sendable, Equatable {
        let epoch: UInt64
        public let isProbe: Bool
    }

    /// Results in the window below which a share says nothing.
    public static let minimumResults = 10
    /// Failures without a success between them that open it however few they are.
    public static let failuresInARow = 5
    public static let failureShare = 0.5
    /// Requests in a row that must succeed, and how many may be under way at once.
    public static let probes = 3
    /// Seconds before the first probe; doubled after each that fails.
    static let shortestOpenSeconds = 1.0
    /// Seconds between two probes at most: what recovery is found within.
    public static let longestOpenSeconds = 5.0

    public private(set) var state = State.closed
    private var epoch: UInt64 = 0
    private var window = FailureWindow()
    private var openSeconds = Self.shortestOpenSeconds
    private var probesSucceeded = 0
    private var probesUnderWay = 0
    /// Failed, by suspects that had failed before, while others were answered or still asked.
    private var probesWithoutSay = 0
    /// Who failed as a probe since the circuit opened, the last of them.
    private var failedProbes: [Suspect] = []
    /// When one more probe may go although the others have not come back.
    private var nextProbe = 0.0

    public init() {}

    public var isOpen: Bool { state != .closed }

    /// When the next request may pass, which may be in the past; nil while everything passes.
    public var nextPass: Double? {
        switch state {
        case .closed: nil
        case .open(let until): until
        case .halfOpen: probesUnderWay + probesSucceeded + probesWithoutSay < Self.probes ? 0 : nextProbe
        }
    }

    /// Nil where the request must wait.
    public mutating func pass(now: Double) -> Pass? {
        if let nextPass, now < nextPass { return nil }
        switch state {
        case .closed: return Pass(epoch: epoch, isProbe: false)
        case .open:
            enter(.halfOpen)
            probesUnderWay = 0
            probesWithoutSay = 0
        case .halfOpen: break
        }
        probesUnderWay += 1
        nextProbe = now + Self.longestOpenSeconds
        return Pass(epoch: epoch, isProbe: true)
    }

    /// Whether a pass that was given still holds: the circuit may have opened meanwhile.
    public func isValid(_ pass: Pass) -> Bool { pass.epoch == epoch }

    public mutating func succeeded(_ pass: Pass, now: Double) {
        guard isValid(pass) else { return }
        guard pass.isProbe else { return window.succeeded(now: now) }
        probesUnderWay -= 1
        probesSucceeded += 1
        if probesUnderWay == 0 { probesWithoutSay = 0 }
        guard probesSucceeded >= Self.probes else { return }
        enter(.closed)
        window.clear(failedProbes, now: now)
        failedProbes = []
        openSeconds = Self.shortestOpenSeconds
    }

    /// - Parameters:
    ///   - suspect: who was asked for. Failures of few suspects prove nothing about Apple.
    ///   - isDoubtful: the receipt may have brought it about; otherwise it speaks of Apple or the network alone.
    ///   - jitter: drawn evenly from 0..<1.
    public mutating func failed(_ pass: Pass, by suspect: Suspect, isDoubtful: Bool, now: Double, jitter: Double) {
        guard isValid(pass) else { return }
        if pass.isProbe { return probeFailed(by: suspect, now: now, jitter: jitter) }
        window.failed(by: suspect, isDoubtful: isDoubtful, now: now)
        if window.isConclusive(now: now) { open(now: now, jitter: jitter) }
    }

    /// Many different ones have failed lately: it is no few receipts' doing.
    public var isWidespread: Bool { window.isWidespread }

    private mutating func probeFailed(by suspect: Suspect, now: Double, jitter: Double) {
        let isKnown = failedProbes.contains { $0.isSame(as: suspect) } || window.isKnown(suspect)
        failedProbes.removeAll { $0.isSame(as: suspect) }
        failedProbes = failedProbes.suffix(FailureWindow.handful - 1) + [suspect]
        probesUnderWay -= 1
        guard isKnown, probesUnderWay + probesSucceeded > 0 else { return open(now: now, jitter: jitter) }
        // Its failure is no news. Whether Apple answers others is for them to tell.
        probesWithoutSay += 1
        if probesUnderWay == 0 { enter(.open(until: now + Self.shortestOpenSeconds * (0.5 + jitter / 2))) }
    }

    private mutating func open(now: Double, jitter: Double) {
        probesSucceeded = 0
        // Equal jitter: replicas do not probe in step, and no draw is a probe at once.
        enter(.open(until: now + openSeconds * (0.5 + jitter / 2)))
        openSeconds = min(openSeconds * 2, Self.longestOpenSeconds)
    }

    /// The request was not sent, or its end says nothing.
    public mutating func withdrew(_ pass: Pass) {
        if isValid(pass), pass.isProbe { probesUnderWay -= 1 }
    }

    private mutating func enter(_ state: State) {
        self.state = state
        epoch += 1
    }
}
