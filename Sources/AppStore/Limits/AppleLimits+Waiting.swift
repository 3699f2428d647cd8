import Fulfillment
import NIOCore
import Synchronization

extension AppleLimits {
    /// One scope's limits, and the requests that wait for them. It is a class, so that it changes in place. The lock of
    /// `state` guards it.
    final class Waiting {
        struct Waiter {
            let ticket: UInt64
            let since: Double
            let isLeased: Bool
            /// True if the request is a submission's first try and its proof has failed before.
            let isKnownToFail: Bool
            let continuation: CheckedContinuation<ScopeLimits.Pass?, Never>
        }

        var limits: ScopeLimits
        var queue = RequestQueue<Waiter>()
        /// The monotonic time of the next look at the waiting requests; infinity for never.
        var lookAt = Double.infinity
        var lastUse = 0.0

        init(limits: ScopeLimits) {
            self.limits = limits
        }

        var isEmpty: Bool { queue.isEmpty }
        var count: Int { queue.count }

        /// Returns the next request that may go; nil if there is none.
        func next(now: Double) -> (Waiter, ScopeLimits.Pass)? {
            limits.next(of: &queue, now: now) { $0.since }
        }
    }

    /// Waits until one request may go. Returns nil if the task was cancelled, if the queue is longer than
    /// `queueSeconds`, or if the request waited too long.
    func admission(
        to scope: AppleScope, _ kind: RequestKind, queueSeconds: Double?, of asker: AppleAsker
    ) async -> ScopeLimits.Pass? {
        if Task.isCancelled { return nil }
        let began = now()
        let (pass, ticket) = state.withLock { state -> (ScopeLimits.Pass?, UInt64?) in
            let waiting = prepare(scope, &state)
            waiting.lastUse = began
            if waiting.limits.needsBudget(kind) { waiting.limits.budget?.arrived(now: began) }
            if waiting.isEmpty, case .pass(let pass) = waiting.limits.admit(kind, now: began) {
                return (pass, 0)
            }
            if let queueSeconds, waiting.limits.needsBudget(kind),
                Double(waiting.count) >= max(1, rate(scope).perSecond * queueSeconds)
            {
                return (nil, nil)
            }
            state.nextTicket += 1
            return (nil, state.nextTicket)
        }
        if let pass { return pass }
        guard let ticket else { return nil }
        asker.waiting?(true)
        defer { asker.waiting?(false) }
        let admitted = await wait(for: scope, kind, ticket: ticket, since: began, of: asker)
        observer?.waited(seconds: now() - began)
        return admitted
    }

    @discardableResult
    func prepare(_ scope: AppleScope, _ state: inout State) -> Waiting {
        if let waiting = state.scopes[scope] { return waiting }
        let rate = rate(scope)
        let waiting = Waiting(
            limits: ScopeLimits(perSecond: rate.perSecond, forSubmissions: rate.isForSubmissions))
        state.scopes[scope] = waiting
        let key = Credentials(bundleID: scope.bundleID, endpoint: scope.endpoint)
        if state.credentials[key] == nil {
            state.credentials[key] = CredentialsBox()
            observer?.circuit(bundleID: scope.bundleID, endpoint: scope.endpoint, isOpen: false)
        }
        return waiting
    }

    /// Returns the scope's rate; 0, which means no limit, if there is no budget.
    private func rate(_ scope: AppleScope) -> AppleRate {
        budget == nil ? AppleRate(perSecond: 0) : scope.rate(ofSetting: perSecond)
    }

    private func wait(
        for scope: AppleScope, _ kind: RequestKind, ticket: UInt64, since: Double, of asker: AppleAsker
    ) async -> ScopeLimits.Pass? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The lock covers the check for cancellation. Swift sets the flag before it runs the handler, so either
                // this check sees the flag or the handler finds the waiter.
                let isCancelled = state.withLock { state in
                    if Task.isCancelled { return true }
                    let waiter = Waiting.Waiter(
                        ticket: ticket, since: since, isLeased: asker.isLeased,
                        isKnownToFail: !kind.isFirst && asker.hasPlaceOfFirstTry, continuation: continuation)
                    state.scopes[scope]?.queue.append(waiter, kind)
                    return false
                }
                if isCancelled { return continuation.resume(returning: nil) }
                look(at: scope)
            }
        } onCancel: {
            let cancelled = state.withLock { $0.scopes[scope]?.queue.remove { $0.ticket == ticket } }
            cancelled?.continuation.resume(returning: nil)
        }
    }

    /// Lets the requests go that may go now, leases more budget if the remaining requests need it, and schedules the
    /// next look.
    func look(at scope: AppleScope) {
        let now = now()
        var admitted: [(Waiting.Waiter, ScopeLimits.Pass?)] = []
        var toLease: Int?
        var wakeUp: Double?
        state.withLock { state in
            guard let waiting = state.scopes[scope] else { return }
            // The hold may have ended since the last look.
            noteShut(scope, &state, now: now)
            while !waiting.isEmpty, let (waiter, pass) = waiting.next(now: now) { admitted.append((waiter, pass)) }
            for waiter in takeImpatient(waiting, isDown: state.downSince != nil, now: now) {
                admitted.append((waiter, nil))
            }
            let count = waiting.limits.needingBudget(of: waiting.queue)
            if !waiting.limits.isHeld(now: now) { toLease = waiting.limits.budget?.toLease(waiting: count, now: now) }
            wakeUp = nextWakeUp(waiting, now: now)
        }
        for (waiter, pass) in admitted { waiter.continuation.resume(returning: pass) }
        if let toLease { lease(toLease, for: scope) }
        if let wakeUp { look(at: scope, when: wakeUp, seconds: wakeUp - now) }
    }

    /// Removes and returns the waiting requests that must leave memory and come again later. While Apple is not down, a
    /// request leaves after `patienceSeconds` if it is not a first try, or if a circuit or a hold stops it. An unproven
    /// proof leaves after `shortPatienceSeconds` if only its own circuit stops it.
    ///
    /// While Apple is down, leased work leaves after `patienceSeconds`, because it comes again from the database. A
    /// proof that is known to fail leaves after `shortPatienceSeconds` if no first try waits. If such proofs stayed,
    /// they could fill memory, and no first try would find out whether Apple answers again.
    private func takeImpatient(_ waiting: Waiting, isDown: Bool, now: Double) -> [Waiting.Waiter] {
        let isLate = { (waiter: Waiting.Waiter) in waiter.since < now - Self.patienceSeconds }
        let isLateByLittle = { (waiter: Waiting.Waiter) in waiter.since < now - Self.shortPatienceSeconds }
        guard !isDown else {
            let mustLeave = { [hasFresh = waiting.queue.hasFresh] (waiter: Waiting.Waiter) in
                waiter.isLeased && isLate(waiter) || waiter.isKnownToFail && !hasFresh && isLateByLittle(waiter)
            }
            var leaving: [Waiting.Waiter] = []
            while let waiter = waiting.queue.remove(where: mustLeave) { leaving.append(waiter) }
            return leaving
        }
        let kinds = RequestKind.all.filter { !$0.isFresh || waiting.limits.isShut($0, now: now) }
        let late = waiting.queue.takeFirst(kinds, while: isLate)
        guard !waiting.limits.isHeld(now: now) else { return late }
        let held = RequestKind.submissions.filter { !$0.isProven && waiting.limits.isShut($0, now: now) }
        return late + waiting.queue.takeFirst(held, while: isLateByLittle)
    }

    /// Returns the time of the next look; nil if an earlier look is scheduled, or if no request waits and nothing is
    /// shut.
    private func nextWakeUp(_ waiting: Waiting, now: Double) -> Double? {
        guard !waiting.isEmpty || waiting.limits.isShut(now: now) else { return nil }
        let next = waiting.limits.nextLook(for: waiting.queue, now: now) ?? .infinity
        // This look has just handled all due requests, so the next look comes at least a millisecond later.
        let lookAt = min(max(next, now + 0.001), now + Self.longestSleepSeconds)
        guard lookAt < waiting.lookAt || waiting.lookAt <= now else { return nil }
        waiting.lookAt = lookAt
        return lookAt
    }

    private func look(at scope: AppleScope, when time: Double, seconds: Double) {
        Task.detached { [weak self] in
            try? await Task.sleep(for: .seconds(seconds))
            // If `lookAt` differs, another look was scheduled for an earlier time, and that look has scheduled the next
            // one.
            let isDue = self?.state.withLock { state in
                guard state.scopes[scope]?.lookAt == time else { return false }
                state.scopes[scope]?.lookAt = .infinity
                return true
            }
            if isDue ?? false { self?.look(at: scope) }
        }
    }

    private func lease(_ requests: Int, for scope: AppleScope) {
        guard let budget else { return }
        let perSecond = rate(scope).perSecond
        Task.detached { [self] in
            do {
                let lease = try await budget.lease(requests, for: scope, perSecond: perSecond)
                state.withLock {
                    $0.scopes[scope]?.limits.budget?.leased(lease, now: now(), jitter: .random(in: 0..<1))
                }
            } catch {
                observer?.budgetFailed(error)
                state.withLock { $0.scopes[scope]?.limits.budget?.failed(now: now(), jitter: .random(in: 0..<1)) }
            }
            look(at: scope)
        }
    }
}
