/// Holds requests back while Apple answers nobody, and finds out when that is over.
///
/// If Apple answers some requests it is not down: one answer closes it. Times are seconds of a monotonic clock. The
/// result of a request that began before the last change of state is ignored: it says nothing about the new state.
public struct CircuitBreaker: Sendable {
    public enum State: Sendable, Equatable {
        /// Everything passes. The next state is open.
        case closed
        /// Nothing passes before `until`. The first request after that makes it halfOpen.
        case open(until: Double)
        /// Probes pass. One success makes it closed; it is open again once all probes have failed.
        case halfOpen
    }

    /// The right to send one request. It ends with `succeeded`, `failed` or `withdrew`.
    public struct Pass: Sendable, Equatable {
        let epoch: UInt64
        public let isProbe: Bool
        /// Whether the result counts, because neither the submission nor the proof has failed before.
        public let isFirst: Bool
        /// Whether the request came since the circuit last closed.
        let isNew: Bool
        /// Whether the newest request takes the pass instead of the oldest. Requests that have piled up may all fail
        /// for one reason that new ones do not share.
        let isForNewest: Bool
    }

    /// The fewest first tries that may probe at once. If Apple answered few requests before, more may probe, so that
    /// one of them is probably answered.
    public static let probes = 5
    static let mostProbes = 20
    private static let probeCertainty = 1.5
    /// The seconds before the first probes, doubled after each round that fails.
    static let shortestOpenSeconds = 1.0
    /// The most seconds between two rounds of probes, and so before the worker notices a recovery.
    public static let longestOpenSeconds = 5.0

    public private(set) var state = State.closed
    private var epoch: UInt64 = 0
    private var tries = FirstTries()
    private var openSeconds = Self.shortestOpenSeconds
    private var probesUnderWay = 0
    /// The first tries among this round's probes.
    private var firstProbes = 0
    private var firstProbesFailed = 0
    /// The time from which one more probe may go while others are under way.
    private var nextProbe = 0.0
    /// The time from which a retry may probe. It finds the recovery if nothing else comes.
    private var nextRepeatedProbe = 0.0
    private var closedAt = -Double.infinity

    public init() {}

    public var isOpen: Bool { state != .closed }

    /// Returns the time from which the next request may pass, which may be in the past; nil while everything passes.
    public func nextPass(isFirst: Bool) -> Double? {
        let time: Double
        switch state {
        case .closed: return nil
        case .open(let until): time = until
        case .halfOpen: time = firstProbes < probesAtOnce ? 0 : nextProbe
        }
        return isFirst ? time : max(time, nextRepeatedProbe)
    }

    /// Returns the right to send a request; nil if it must wait.
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

    /// Returns whether an earlier pass still holds. The circuit may have opened meanwhile.
    public func isValid(_ pass: Pass) -> Bool { pass.epoch == epoch }

    public mutating func succeeded(_ pass: Pass, now: Double) {
        guard isValid(pass) else { return }
        tries.succeeded(isFirst: pass.isFirst)
        if pass.isProbe { close(now: now) }
    }

    /// Notes that Apple answered a request that speaks for these too. Their failures are their own.
    mutating func othersAnswered(now: Double) {
        tries.endRow()
        if isOpen { close(now: now) }
    }

    /// Ends the pass of a request that failed.
    /// - Parameters:
    ///   - suspect: the request's sender and proof; each suspect counts once.
    ///   - jitter: a number drawn evenly from 0..<1.
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

    /// Ends the pass of a request that was not sent, or whose end says nothing.
    public mutating func withdrew(_ pass: Pass, now: Double, jitter: Double) {
        guard isValid(pass), pass.isProbe else { return }
        probesUnderWay -= 1
        if pass.isFirst { firstProbes -= 1 } else { nextRepeatedProbe = 0 }
        endRound(now: now, jitter: jitter)
    }

    /// Returns whether many different requests have failed lately, so that a few receipts cannot be the cause.
    public func isWidespread(now: Double) -> Bool { tries.areWidespread(now: now) }

    private var probesAtOnce: Int {
        max(Self.probes, Int(min(Double(Self.mostProbes), Self.probeCertainty / max(tries.answeredShare, 0.01))))
    }

    private mutating func endRound(now: Double, jitter: Double) {
        guard probesUnderWay == 0 else { return }
        // Another failure of an earlier one says nothing new: a first try may probe at once.
        if firstProbesFailed > 0 { open(now: now, jitter: jitter) } else { enter(.open(until: now)) }
    }

    private mutating func open(now: Double, jitter: Double) {
        // Equal jitter: replicas do not probe at the same time, and no random delay is zero.
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
