/// The limits of one app, endpoint and environment, in their order: `Retry-After`, circuit breaker, retry budget, budget.
public struct ScopeLimits: Sendable {
    /// The right to send one request.
    public struct Pass: Sendable {
        let circuit: CircuitBreaker.Pass
        let isRetry: Bool
        /// Nil where there is no budget.
        var token: RequestBudget.Token?
    }

    public enum Admission: Sendable {
        case pass(Pass)
        /// Held back: by Apple's word, or after failures.
        case shut
        /// Retries are to wait, others may pass.
        case noRetry
        /// The budget is spent for now.
        case noBudget
    }

    public private(set) var breaker = CircuitBreaker()
    public private(set) var heldUntil = -Double.infinity
    public var budget: RequestBudget?
    private var retries = RetryBudget()

    /// - Parameter perSecond: 0 is no limit.
    public init(perSecond: Double) {
        if perSecond > 0 { budget = RequestBudget(perSecond: perSecond) }
    }

    public func isHeld(now: Double) -> Bool { now < heldUntil }
    public func isShut(now: Double) -> Bool { isHeld(now: now) || breaker.isOpen }

    public mutating func admit(isRetry: Bool, now: Double) -> Admission {
        if isHeld(now: now) { return .shut }
        if let next = breaker.nextPass, now < next { return .shut }
        if isRetry, !breaker.isOpen, !retries.take(now: now) { return .noRetry }
        var token: RequestBudget.Token?
        if budget != nil {
            token = budget?.take(now: now)
            if token == nil {
                if isRetry, !breaker.isOpen { retries.withdrew() }
                return .noBudget
            }
        }
        guard let circuit = breaker.pass(now: now) else { return .shut }
        return .pass(Pass(circuit: circuit, isRetry: isRetry, token: token))
    }

    /// Looks again right before sending, for a wait may lie between. False: withdraw the pass, and wait for another.
    public mutating func confirm(_ pass: inout Pass, now: Double) -> Bool {
        if isHeld(now: now) || !breaker.isValid(pass.circuit) { return false }
        guard let token = pass.token, token.validUntil <= now else { return true }
        pass.token = budget?.take(now: now)
        return pass.token != nil
    }

    public mutating func withdrew(_ pass: Pass) {
        breaker.withdrew(pass.circuit)
        if pass.isRetry { retries.withdrew() }
    }

    public mutating func succeeded(_ pass: Pass, now: Double) {
        breaker.succeeded(pass.circuit, now: now)
        retries.succeeded()
    }

    /// As for `CircuitBreaker`.
    public mutating func failed(_ pass: Pass, by suspect: Suspect, isDoubtful: Bool, now: Double, jitter: Double) {
        breaker.failed(pass.circuit, by: suspect, isDoubtful: isDoubtful, now: now, jitter: jitter)
    }

    /// Apple answered that it wants to be left alone: no failure.
    /// - Returns: whether that is news to the other replicas.
    @discardableResult
    public mutating func hold(until time: Double) -> Bool {
        guard time > heldUntil + Self.sameHoldSeconds else { return false }
        heldUntil = time
        return true
    }

    /// Holds whose ends are this close are one.
    private static let sameHoldSeconds = 0.25

    /// When those who wait are to be looked at again, nil where something else will tell.
    public func nextLook(waitingRetries: Bool, now: Double) -> Double? {
        if isHeld(now: now) { return heldUntil }
        if let next = breaker.nextPass, next > now { return next }
        var times: [Double] = []
        if let next = budget?.nextLook(now: now) { times.append(next) }
        if waitingRetries { times.append(retries.nextToken(now: now)) }
        return times.min()
    }
}
