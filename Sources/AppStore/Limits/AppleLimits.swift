import Clocks
import Fulfillment
import Synchronization

/// Everything that a request to Apple passes before it is sent: circuit breaker, fleet-wide budget, concurrency.
///
/// One for the process and all clients. Where nothing holds a request back it costs two short locks and no suspension; no
/// request waits for the database while its replica holds a lease. Run `follow` beside it.
public final class AppleLimits: Sendable {
    /// Seconds that a request waits for its own app's circuit or `Retry-After`, or for its turn where it failed before, until
    /// it is told to come again. While Apple as a whole is down it waits for as long as that lasts.
    static let patienceSeconds = 10.0
    /// Apple answers others where it has answered anybody within so many seconds.
    static let answeringSeconds = 60.0
    /// An app and endpoint that nobody asked for this long is not in use.
    static let inUseSeconds = 60.0
    /// Where a 429 says nothing about when. Seconds.
    static let defaultHoldSeconds = 1.0
    /// Between two looks at what other replicas hold back.
    static let pollSeconds = 0.5
    /// Nobody sleeps for longer, so that an end of waiting is never missed by much.
    static let longestSleepSeconds = 1.0

    /// One permit for each request. Its limit is adapted.
    public let gate: ConcurrencyGate
    /// Nothing but the gate, and that as it is.
    let isFixed: Bool
    let perSecond: Double
    let budget: (any AppleBudget)?
    let observer: (any AppleLimitsObserver)?
    let now: @Sendable () -> Double
    let state: Mutex<State>

    struct State {
        var scopes: [AppleScope: Waiting] = [:]
        var credentials: [Credentials: CredentialsBox] = [:]
        /// What the observer was last told.
        var openCircuits: Set<Credentials> = []
        var misconfigured: Set<Credentials> = []
        var concurrency: AdaptiveConcurrency
        var underWay = RequestsUnderWay()
        var failedProofs = FailedProofs()
        /// Of any request.
        var lastAnswer = -Double.infinity
        /// When the gate is looked at again, infinity for never.
        var gateLook = Double.infinity
        var nextTicket: UInt64 = 0
        var downSince: Double?
        var downBefore = 0.0
    }

    /// Changes in place; guarded by the lock around it.
    final class CredentialsBox {
        var state = CredentialsState()
    }

    struct Credentials: Hashable {
        let bundleID: BundleID
        let endpoint: String
    }

    /// - Parameters:
    ///   - maxConcurrency: requests under way at once, from this process.
    ///   - maxRequestsPerSecond: of all replicas for each app and endpoint; a tenth for the sandbox; 0 is no limit.
    ///   - budget: what all replicas share. Nil: there is only this one, and `maxRequestsPerSecond` has no effect.
    ///   - now: seconds of a clock that only grows.
    public init(
        maxConcurrency: Int, maxRequestsPerSecond: Double = 0, budget: (any AppleBudget)? = nil,
        observer: (any AppleLimitsObserver)? = nil, now: (@Sendable () -> Double)? = nil
    ) {
        let concurrency = AdaptiveConcurrency(maximum: maxConcurrency)
        gate = ConcurrencyGate(limit: concurrency.limit)
        isFixed = false
        perSecond = budget == nil ? 0 : maxRequestsPerSecond
        self.budget = budget
        self.observer = observer
        self.now = now ?? { WallClock.monotonicSeconds }
        state = Mutex(State(concurrency: concurrency))
        observer?.concurrency(limit: concurrency.limit)
    }

    /// For a client that asks a few questions and wants each answer as it is: only so many requests at once, and no more.
    public init(fixedConcurrency: Int) {
        gate = ConcurrencyGate(limit: fixedConcurrency)
        isFixed = true
        perSecond = 0
        budget = nil
        observer = nil
        now = { WallClock.monotonicSeconds }
        state = Mutex(State(concurrency: AdaptiveConcurrency(maximum: fixedConcurrency)))
    }

    /// How a request ended, for the limits.
    enum End {
        /// Apple answered, whatever it said.
        case answered
        /// A failure that no receipt brings about.
        case failed
        /// A failure that a receipt may have brought about.
        case doubtful
        /// Apple wants to be left alone.
        case limited(seconds: Double?)
        /// It says nothing of Apple, such as a cancelled request.
        case unknown
    }

    /// Sends one request once it may go. Nil where the task was cancelled or the wait was too long.
    /// - Parameter queueSeconds: it does not join those who wait for the budget where they are more than pass in this
    ///   time. Nil waits behind any number.
    func send<Answer>(
        to scope: AppleScope, for request: VerificationRequest, queueSeconds: Double? = nil,
        _ body: () async -> (Answer, End)
    ) async -> Answer? {
        if isFixed { return await gate.withPermit { await body().0 } }
        let suspect = request.suspect
        while true {
            let kind = kind(of: request, suspect)
            let admitted = await admission(to: scope, kind, queueSeconds: queueSeconds, waiting: request.waiting)
            guard let pass = admitted else { return nil }
            let sent: Sent<Answer>? = await gate.withPermit(kind, mustWait: makeRoom) {
                guard let number = begin(scope, pass) else { return .mustWaitAgain }
                let (answer, end) = await body()
                finish(scope, pass, number, Task.isCancelled ? .unknown : end.orPlanted, suspect)
                return .sent(answer)
            }
            switch sent {
            case .sent(let answer): return answer
            case .mustWaitAgain: continue
            case nil:
                withdraw(pass, scope)
                return nil
            }
        }
    }

    private enum Sent<Answer> {
        case sent(Answer)
        case mustWaitAgain
    }

    private func kind(of request: VerificationRequest, _ suspect: Suspect) -> RequestKind {
        let now = now()
        let isKnownToFail = state.withLock { $0.failedProofs.contains(suspect.proof, now: now) }
        return RequestKind(isFresh: !request.isRetry && !isKnownToFail, isProven: request.isProven)
    }

    /// Requests that take far longer than Apple's answers do keep no place from others. Looks again when the next one is
    /// slow, while anyone waits.
    private func makeRoom() {
        let now = now()
        let look = state.withLock { state -> Double? in
            adjustGate(&state, now: now)
            guard state.gateLook == .infinity, let next = state.underWay.nextSlow(now: now) else { return nil }
            state.gateLook = next
            return next
        }
        guard let look else { return }
        Task.detached { [weak self] in
            try? await Task.sleep(for: .seconds(max(0.001, look - now)))
            guard let self else { return }
            self.state.withLock { $0.gateLook = .infinity }
            if self.gate.waiting > 0 { self.makeRoom() }
        }
    }

    /// Under the lock, so that the last to set it is the last to have decided.
    private func adjustGate(_ state: inout State, now: Double) {
        let limit = min(state.concurrency.maximum, state.concurrency.limit + state.underWay.slow(now: now))
        if gate.limit != limit { gate.adjust(limit: limit) }
    }

    /// Looks again, for the wait for a permit lies between the pass and this.
    private func begin(_ scope: AppleScope, _ pass: ScopeLimits.Pass) -> UInt64? {
        let now = now()
        let number = state.withLock { state -> UInt64? in
            guard let waiting = state.scopes[scope] else { return nil }
            var confirmed = pass
            guard waiting.limits.confirm(&confirmed, now: now) else {
                waiting.limits.withdrew(pass, now: now, jitter: .random(in: 0..<1))
                return nil
            }
            // Where anyone waits for a place, the limit was reached.
            let underWay = gate.waiting > 0 ? state.concurrency.limit : state.underWay.count + 1
            let number = state.concurrency.began(underWay: underWay)
            state.underWay.began(number, now: now)
            return number
        }
        if number == nil { look(at: scope) }
        return number
    }

    private func withdraw(_ pass: ScopeLimits.Pass, _ scope: AppleScope) {
        let now = now()
        state.withLock { $0.scopes[scope]?.limits.withdrew(pass, now: now, jitter: .random(in: 0..<1)) }
        look(at: scope)
    }

    private func finish(
        _ scope: AppleScope, _ pass: ScopeLimits.Pass, _ number: UInt64, _ end: End, _ suspect: Suspect
    ) {
        let now = now()
        var newHold: Double?
        let mustLook = state.withLock { state -> Bool in
            state.underWay.ended(number)
            guard let waiting = state.scopes[scope] else { return false }
            let wasShut = waiting.limits.isShut(now: now)
            let limitBefore = state.concurrency.limit
            switch end {
            case .answered:
                waiting.limits.succeeded(pass, now: now)
                state.failedProofs.answered(suspect.proof)
                state.lastAnswer = now
            case .failed, .doubtful:
                waiting.limits.failed(pass, by: suspect, now: now, jitter: .random(in: 0..<1))
                state.failedProofs.note(suspect.proof, now: now)
            case .limited(let seconds):
                waiting.limits.withdrew(pass, now: now, jitter: .random(in: 0..<1))
                let hold = max(0, seconds ?? Self.defaultHoldSeconds)
                if hold > 0, waiting.limits.hold(until: now + hold) { newHold = hold }
            case .unknown: waiting.limits.withdrew(pass, now: now, jitter: .random(in: 0..<1))
            }
            let isTelling = pass.kind.isFresh && waiting.limits.breaker.isWidespread(now: now)
            state.concurrency.ended(number, end.outcome(isTelling: isTelling))
            if newHold != nil { state.concurrency.calm() }
            let isShut = waiting.limits.isShut(now: now)
            if wasShut, !isShut { state.concurrency.restart() }
            adjustGate(&state, now: now)
            if state.concurrency.limit != limitBefore {
                observer?.concurrency(limit: state.concurrency.limit)
            }
            if wasShut != isShut { noteShut(scope, &state, now: now) }
            return wasShut != isShut || !waiting.isEmpty
        }
        if let newHold { share(hold: newHold, of: scope) }
        if mustLook { look(at: scope) }
    }

    /// Tells the other replicas, and tries again a few times where the database does not answer.
    private func share(hold seconds: Double, of scope: AppleScope) {
        observer?.held(scope, seconds: seconds)
        guard let budget else { return }
        let began = now()
        Task {
            for pause in [0.2, 1, 5] {
                do {
                    let left = seconds - (now() - began)
                    if left > 0 { try await budget.hold(scope, seconds: left) }
                    return
                } catch {
                    observer?.budgetFailed(error)
                    guard (try? await Task.sleep(for: .seconds(pause))) != nil else { return }
                }
            }
        }
    }
}

extension AppleLimits.End {
    /// - Parameter isTelling: whether a failure speaks of Apple's load: few receipts that are never answered must not slow
    ///   down everybody else's.
    func outcome(isTelling: Bool) -> AdaptiveConcurrency.Outcome {
        switch self {
        case .answered, .doubtful: .fine
        case .failed: isTelling ? .overload : .unknown
        case .limited: .overload
        case .unknown: .unknown
        }
    }
}

extension VerificationRequest {
    fileprivate var suspect: Suspect {
        let proof = subject.hashValue
        return Suspect(player: playerID?.hashValue ?? proof, proof: proof)
    }
}
