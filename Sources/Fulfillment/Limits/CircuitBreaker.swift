/// Holds requests back while Apple answers no request, and probes whether Apple answers again.
///
/// One answered probe closes the circuit, because Apple is not down if it answers some requests. Times are seconds of a
/// monotonic clock. The circuit ignores the result of a request that began before the last change of state.
public struct CircuitBreaker: Sendable {
    public enum State: Sendable, Equatable {
        /// Every request passes. The next state is `open`.
        case closed
        /// No request passes before `until`. The first request after `until` makes the state `halfOpen`.
        case open(until: Double)
        /// A few requests pass as probes. One success closes the circuit; the failure of all probes opens it again.
        case halfOpen
    }

    /// The right to send one request. A call of `succeeded`, `failed` or `withdrew` ends the pass.
    public struct Pass: Sendable, Equatable {
        let epoch: UInt64
        public let isProbe: Bool
        /// True if neither the submission nor the proof has failed before. Only then does a failure count.
        public let isFirst: Bool
        /// True if the request came after the circuit last closed.
        let isNew: Bool
        /// True if the newest waiting request takes the pass, not the oldest, because the old requests may all have
        /// proofs that Apple never answers.
        let isForNewest: Bool
    }

    /// The number of first tries that may probe at once. If Apple answered only a small share of the earlier first
    /// tries, up to `mostProbes` may probe, so that Apple probably answers one of them.
    public static let probes = 5
    static let mostProbes = 20
    private static let probeCertainty = 1.5
    /// The seconds before the first probes, doubled after each failed round of probes.
    static let shortestOpenSeconds = 1.0
    /// The most seconds between two rounds of probes. A worker may notice Apple's recovery this much later.
    public static let longestOpenSeconds = 5.0

    public private(set) var state = State.closed
    private var epoch: UInt64 = 0
    private var tries = FirstTries()
    private var openSeconds = Self.shortestOpenSeconds
    private var probesUnderWay = 0
    /// The number of first tries among this round's probes.
    private var firstProbes = 0
    private var firstProbesFailed = 0
    /// The time from which one more first try may probe, even if `probesAtOnce` first tries are under way.
    private var nextProbe = 0.0
    /// The time from which a retry may probe, so that the worker notices Apple's recovery even without first tries.
    private var nextRepeatedProbe = 0.0
    private var closedAt = -Double.infinity

    public init() {}

    public var isOpen: Bool { state != .closed }

    /// Returns the time from which the next request may pass; the time may be past. Returns nil while every request
    /// passes.
    public func nextPass(isFirst: Bool) -> Double? {
        let time: Double
        switch state {
        case .closed: return nil
        case .open(let until): time = until
        case .halfOpen: time = firstProbes < probesAtOnce ? 0 : nextProbe
        }
        return isFirst ? time : max(time, nextRepeatedProbe)
    }

    /// Returns the right to send a request; nil if the request must wait.
    /// - Parameter since: the time at which the request came; nil for now.
    public mutating func pass(isFirst: Bool, since: Double? = nil, now: Double) -> Pass? {
        if let next = nextPass(isFirst: isFirst), now < next { return nil }
        switch state {
        case .closed:
            let isNew = (since ?? now) >= closedAt
            return Pass(epoch: epoch, isProbe: false, isFirst: isFirst, isNew: isNew, isForNewest: false)
        case .open:
            enter(.halfOpen)
            probesUnderWay = 0
            firstProbes = 0
            firstProbesFailed = 0
        case .halfOpen: break
        }
        probesUnderWay += 1
        if isFirst {
            firstProbes += 1
            nextProbe = now + Self.longestOpenSeconds
        } else {
            nextRepeatedProbe = now + Self.longestOpenSeconds
        }
        let isForNewest = isFirst && !firstProbes.isMultiple(of: 2)
        return Pass(epoch: epoch, isProbe: true, isFirst: isFirst, isNew: true, isForNewest: isForNewest)
    }

    /// Returns whether the pass is still valid. A pass becomes invalid when the circuit changes its state.
    public func isValid(_ pass: Pass) -> Bool { pass.epoch == epoch }

    public mutating func succeeded(_ pass: Pass, now: Double) {
        guard isValid(pass) else { return }
        tries.succeeded(isFirst: pass.isFirst)
        if pass.isProbe { close(now: now) }
    }

    /// Closes the circuit, because Apple answered a request of the scope's other circuit. So the failures of this
    /// circuit come from its requests, not from Apple.
    mutating func othersAnswered(now: Double) {
        tries.endRow()
        if isOpen { close(now: now) }
    }

    /// Ends the pass of a request that failed.
    /// - Parameters:
    ///   - suspect: the request's sender and proof. Each suspect counts once.
    ///   - jitter: a random number, uniform in 0..<1.
    public mutating func failed(_ pass: Pass, by suspect: Suspect, now: Double, jitter: Double) {
        guard isValid(pass) else { return }
        guard pass.isProbe else {
            guard pass.isFirst else { return }
            tries.failed(by: suspect, isNew: pass.isNew, now: now)
            guard tries.areHopeless else { return }
            tries.endRow()
            open(now: now, jitter: jitter)
            return
        }
        if pass.isFirst { firstProbesFailed += 1 }
        probesUnderWay -= 1
        endRound(now: now, jitter: jitter)
    }

    /// Ends the pass of a request that was not sent, or whose result says nothing about Apple.
    public mutating func withdrew(_ pass: Pass, now: Double, jitter: Double) {
        guard isValid(pass), pass.isProbe else { return }
        probesUnderWay -= 1
        if pass.isFirst { firstProbes -= 1 } else { nextRepeatedProbe = 0 }
        endRound(now: now, jitter: jitter)
    }

    /// Returns whether requests of many suspects have failed lately, so that a few receipts cannot be the cause.
    public func isWidespread(now: Double) -> Bool { tries.areWidespread(now: now) }

    private var probesAtOnce: Int {
        max(Self.probes, Int(min(Double(Self.mostProbes), Self.probeCertainty / max(tries.answeredShare, 0.01))))
    }

    private mutating func endRound(now: Double, jitter: Double) {
        guard probesUnderWay == 0 else { return }
        // Failed retries say nothing new about Apple. If no first try failed, the next first try may probe at once.
        if firstProbesFailed > 0 { open(now: now, jitter: jitter) } else { enter(.open(until: now)) }
    }

    private mutating func open(now: Double, jitter: Double) {
        // Half of the delay is random, so that the replicas do not probe at one moment. The other half is fixed, so
        // that no delay is zero.
        enter(.open(until: now + openSeconds * (0.5 + jitter / 2)))
        openSeconds = min(openSeconds * 2, Self.longestOpenSeconds)
    }

    private mutating func close(now: Double) {
        enter(.closed)
        closedAt = now
        openSeconds = Self.shortestOpenSeconds
    }

    private mutating func enter(_ state: State) {
        self.state = state
        epoch += 1
    }
}
