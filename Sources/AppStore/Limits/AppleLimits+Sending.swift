import Fulfillment
import Synchronization

extension AppleLimits {
    /// Sends one request as soon as the limits allow it. Returns nil if the task was cancelled or the wait was too
    /// long.
    ///
    /// Thousands of tasks wait in this function. Each part that only computes is a separate function, so that its local
    /// variables use no memory in a waiting task.
    /// - Parameter queueSeconds: the most seconds that the request may queue for the budget; nil for no limit. If the
    ///   queue is longer, the function returns nil at once.
    func send<Answer>(
        to scope: AppleScope, for asker: AppleAsker, queueSeconds: Double? = nil,
        _ body: () async -> (Answer, End)
    ) async -> Answer? {
        if isFixed { return await gate.withPermit { await body().0 } }
        guard let request = await admittedRequest(to: scope, for: asker, queueSeconds: queueSeconds) else { return nil }
        defer { gate.leave(request.pass.kind) }
        let (answer, end) = await body()
        finish(request, Task.isCancelled ? .unknown : end.orPlanted)
        return answer
    }

    /// A request with a permit. It is a class, so that a request under way keeps only a reference in its task's memory.
    private final class AdmittedRequest: Sendable {
        let scope: AppleScope
        let pass: ScopeLimits.Pass
        /// The number that `AdaptiveConcurrency` gave the request.
        let number: UInt64
        let suspect: Suspect

        init(scope: AppleScope, pass: ScopeLimits.Pass, number: UInt64, suspect: Suspect) {
            (self.scope, self.pass, self.number, self.suspect) = (scope, pass, number, suspect)
        }
    }

    /// Waits until the limits allow the request, and takes its permit. Returns nil if the task was cancelled or the
    /// wait was too long.
    @inline(never)
    private func admittedRequest(
        to scope: AppleScope, for asker: AppleAsker, queueSeconds: Double?
    ) async -> AdmittedRequest? {
        while true {
            let kind = kind(of: asker)
            let admitted = await admission(to: scope, kind, queueSeconds: queueSeconds, of: asker)
            guard let pass = admitted else { return nil }
            guard await gate.enter(kind, since: now(), makeRoom) else {
                withdraw(pass, scope)
                return nil
            }
            if let number = begin(scope, pass) {
                return AdmittedRequest(scope: scope, pass: pass, number: number, suspect: asker.suspect)
            }
            gate.leave(kind)
        }
    }

    @inline(never)
    private func kind(of asker: AppleAsker) -> RequestKind {
        let now = now()
        let isKnownToFail = state.withLock { $0.failedProofs.contains(asker.suspect.proof, now: now) }
        guard asker.work == .submission else { return RequestKind(asker.work, isFirst: !isKnownToFail) }
        return RequestKind(isFresh: !asker.isRetry && !isKnownToFail, isProven: asker.isProven)
    }

    /// Raises the gate's limit by the number of slow requests, so that slow requests take no place from other requests.
    /// While a request waits for a permit, this function runs again when the next request becomes slow. It also ends
    /// the wait of receiptd's own requests after `patienceSeconds`, because other requests may take all permits.
    private func makeRoom() {
        let now = now()
        gate.dismiss(RequestKind.own, waitingSince: now - Self.patienceSeconds)
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

    /// Sets the gate's limit. The caller has locked `state`, so that the newest limit stays.
    private func adjustGate(_ state: inout State, now: Double) {
        let limit = min(state.concurrency.maximum, state.concurrency.limit + state.underWay.slow(now: now))
        if gate.limit != limit { gate.adjust(limit: limit) }
    }

    /// Begins a request and returns its number; nil if its pass is no longer valid. Checks the pass again, because the
    /// request got the pass before it waited for a permit.
    @inline(never)
    private func begin(_ scope: AppleScope, _ pass: ScopeLimits.Pass) -> UInt64? {
        let now = now()
        let number = state.withLock { state -> UInt64? in
            guard let waiting = state.scopes[scope] else { return nil }
            var confirmed = pass
            guard waiting.limits.confirm(&confirmed, now: now) else {
                waiting.limits.withdrew(pass, now: now, jitter: .random(in: 0..<1))
                return nil
            }
            // If a request waits for a permit, the limit was reached.
            let underWay = gate.waiting > 0 ? state.concurrency.limit : state.underWay.count + 1
            let number = state.concurrency.began(underWay: underWay)
            state.underWay.began(number, now: now)
            return number
        }
        if number == nil { look(at: scope) }
        return number
    }

    @inline(never)
    private func withdraw(_ pass: ScopeLimits.Pass, _ scope: AppleScope) {
        let now = now()
        state.withLock { $0.scopes[scope]?.limits.withdrew(pass, now: now, jitter: .random(in: 0..<1)) }
        look(at: scope)
    }

    @inline(never)
    private func finish(_ request: AdmittedRequest, _ end: End) {
        let scope = request.scope
        let now = now()
        var newHold: Double?
        let mustLook = state.withLock { state -> Bool in
            state.underWay.ended(request.number)
            guard let waiting = state.scopes[scope] else { return false }
            let wasShut = waiting.limits.isShut(now: now)
            let limitBefore = state.concurrency.limit
            newHold = apply(end, of: request, now: now, &state)
            let isTelling =
                scope.isOfProofs && request.pass.kind.isFresh
                && waiting.limits.isWidespread(request.pass.kind, now: now)
            state.concurrency.ended(request.number, end.outcome(isTelling: isTelling, isOfProofs: scope.isOfProofs))
            if newHold != nil, scope.isOfProofs { state.concurrency.calm() }
            let isShut = waiting.limits.isShut(now: now)
            if wasShut, !isShut, scope.isOfProofs { state.concurrency.restart() }
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

    /// Counts the end of a request. The caller has locked `state`. Returns the seconds of a hold that the other
    /// replicas do not know yet; nil if there is none.
    private func apply(_ end: End, of request: AdmittedRequest, now: Double, _ state: inout State) -> Double? {
        guard let waiting = state.scopes[request.scope] else { return nil }
        let pass = request.pass
        switch end {
        case .answered:
            waiting.limits.succeeded(pass, now: now)
            state.failedProofs.answered(request.suspect.proof)
            if request.scope.isOfProofs { state.lastAnswer = now }
        case .failed, .doubtful:
            waiting.limits.failed(pass, by: request.suspect, now: now, jitter: .random(in: 0..<1))
            state.failedProofs.note(request.suspect.proof, now: now)
        case .limited(let seconds): return hold(waiting, forSeconds: seconds, after: pass, now: now)
        case .unknown: waiting.limits.withdrew(pass, now: now, jitter: .random(in: 0..<1))
        }
        return nil
    }
}
