/// The limits of one app, endpoint and environment, in the order of the checks: `Retry-After`, circuit breaker, retry
/// budget, fleet-wide budget.
public struct ScopeLimits: Sendable {
    /// The right to send one request.
    public struct Pass: Sendable {
        let circuit: CircuitBreaker.Pass
        public let kind: RequestKind
        /// The token of the fleet-wide budget; nil if there is no budget.
        var token: RequestBudget.Token?
    }

    public enum Admission: Sendable {
        case pass(Pass)
        /// `Retry-After` or the circuit breaker holds the request back.
        case shut
        /// The retry must wait; other requests may pass.
        case noRetry
        /// The fleet-wide budget has no request left now.
        case noBudget
    }

    public private(set) var circuits = ProofCircuits()
    public private(set) var heldUntil = -Double.infinity
    public var budget: RequestBudget?
    /// False if the budget limits only receiptd's own requests.
    private let hasBudgetForSubmissions: Bool
    private var retries = RetryBudget()

    /// - Parameter perSecond: the fleet-wide budget in requests a second; 0 means no limit.
    public init(perSecond: Double, forSubmissions: Bool = true) {
        hasBudgetForSubmissions = forSubmissions
        if perSecond > 0 { budget = RequestBudget(perSecond: perSecond) }
    }

    /// Returns whether a request of the kind needs a token of the budget.
    public func needsBudget(_ kind: RequestKind) -> Bool {
        budget != nil && (hasBudgetForSubmissions || kind.work != .submission)
    }

    /// Returns the number of waiting requests that need a token of the budget.
    public func needingBudget<Element>(of waiting: RequestQueue<Element>) -> Int {
        hasBudgetForSubmissions ? waiting.count : waiting.ownCount
    }

    public func isHeld(now: Double) -> Bool { now < heldUntil }
    public func isShut(now: Double) -> Bool { isHeld(now: now) || circuits.isOpen(now: now) }
    /// Returns whether `Retry-After` or the circuit breaker holds requests of this kind back.
    public func isShut(_ kind: RequestKind, now: Double) -> Bool { isHeld(now: now) || circuits[kind].isOpen }

    /// Returns whether requests of many suspects have failed lately, so that the failures show Apple's load.
    public func isWidespread(_ kind: RequestKind, now: Double) -> Bool {
        circuits.speaksOfApple(kind, now: now) && circuits[kind].isWidespread(now: now)
    }

    public mutating func admit(_ kind: RequestKind, since: Double? = nil, now: Double) -> Admission {
        circuits.came(kind, now: now)
        if isHeld(now: now) { return .shut }
        let isOpen = circuits[kind].isOpen
        if let next = circuits[kind].nextPass(isFirst: kind.isFirst), now < next {
            return kind.isFresh ? .shut : .noRetry
        }
        if !kind.isFresh, !isOpen, !retries.take(now: now) { return .noRetry }
        var token: RequestBudget.Token?
        if needsBudget(kind) {
            token = budget?.take(now: now)
            if token == nil {
                if !kind.isFresh, !isOpen { retries.withdrew() }
                return .noBudget
            }
        }
        guard let circuit = circuits[kind].pass(isFirst: kind.isFirst, since: since, now: now) else { return .shut }
        return .pass(Pass(circuit: circuit, kind: kind, token: token))
    }

    /// Removes and returns the waiting request of this scope whose turn it is, with its pass; nil if none may go. While
    /// first tries of a circuit wait, retries do not probe the circuit.
    /// - Parameter since: a function that returns the time at which a request came.
    public mutating func next<Element>(
        of waiting: inout RequestQueue<Element>, now: Double, since: (Element) -> Double
    ) -> (element: Element, pass: Pass)? {
        var mustWait: RequestKindSet = []
        while true {
            let kind = waiting.next { kind in
                !mustWait.contains(kind)
                    && (kind.isFirst || !circuits[kind].isOpen || !waiting.hasFirst(isProven: kind.isProven))
            }
            guard let kind else { return nil }
            switch admit(kind, since: waiting.first(kind).map(since), now: now) {
            case .pass(let pass):
                return waiting.take(kind, newest: pass.circuit.isForNewest).map { ($0, pass) }
            case .shut where isHeld(now: now): return nil
            // Only this kind must wait, because another kind may have the other circuit.
            case .shut, .noRetry: mustWait.formUnion(RequestKindSet([kind]))
            case .noBudget: mustWait.formUnion(RequestKindSet(RequestKind.all.filter(needsBudget)))
            }
        }
    }

    /// Checks a pass again right before the worker sends the request, because the request may have waited meanwhile. If
    /// the result is false, the caller withdraws the pass and waits for a new pass.
    public mutating func confirm(_ pass: inout Pass, now: Double) -> Bool {
        if isHeld(now: now) || !circuits[pass.kind].isValid(pass.circuit) { return false }
        guard let token = pass.token, token.validUntil <= now else { return true }
        pass.token = budget?.take(now: now)
        return pass.token != nil
    }

    public mutating func withdrew(_ pass: Pass, now: Double, jitter: Double) {
        circuits[pass.kind].withdrew(pass.circuit, now: now, jitter: jitter)
        // A probe took no token of the retry budget.
        if !pass.kind.isFresh, !pass.circuit.isProbe { retries.withdrew() }
    }

    public mutating func succeeded(_ pass: Pass, now: Double) {
        circuits.succeeded(pass.circuit, of: pass.kind, now: now)
        retries.succeeded()
    }

    /// Ends the pass of a request that failed, as `CircuitBreaker.failed` does.
    public mutating func failed(_ pass: Pass, by suspect: Suspect, now: Double, jitter: Double) {
        circuits[pass.kind].failed(pass.circuit, by: suspect, now: now, jitter: jitter)
    }

    /// Lets no request pass until `time`, the end of Apple's `Retry-After`. The circuit breakers count no failure.
    /// - Returns: whether the new hold ends later than the present hold, so that the caller must inform the other
    ///   replicas.
    @discardableResult
    public mutating func hold(until time: Double) -> Bool {
        guard time > heldUntil + Self.sameHoldSeconds else { return false }
        heldUntil = time
        return true
    }

    /// If a new hold ends at most these seconds after the present hold, the new hold changes nothing.
    private static let sameHoldSeconds = 0.25

    /// Returns the time at which to look for waiting requests again; nil if another event causes the next look.
    public func nextLook<Element>(for waiting: RequestQueue<Element>, now: Double) -> Double? {
        if isHeld(now: now) { return heldUntil }
        var times: [Double] = []
        var mayAnyPass = false
        for isProven in [true, false] where waiting.isEmpty || waiting.hasAny(isProven: isProven) {
            let isFirst = waiting.isEmpty || waiting.hasFirst(isProven: isProven)
            if let next = circuits[isProven: isProven].nextPass(isFirst: isFirst), next > now {
                times.append(next)
            } else {
                mayAnyPass = true
            }
        }
        guard mayAnyPass else { return times.min() }
        if needingBudget(of: waiting) > 0, let next = budget?.nextLook(now: now) { times.append(next) }
        if waiting.hasDeferrable { times.append(retries.nextToken(now: now)) }
        return times.min()
    }
}
