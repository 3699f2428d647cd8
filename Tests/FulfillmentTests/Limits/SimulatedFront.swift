import NamesAndTimes

@testable import Fulfillment

/// The parts in front of Apple, combined as in `AppleLimits`: one queue and one circuit for each app, and one gate for
/// all apps.
struct SimulatedFront {
    struct Waiter {
        let id: Int
        let since: Double
        let suspect: Suspect
        let kind: RequestKind
    }
    final class Scope {
        var limits = ScopeLimits(perSecond: 0)
        var waiting = RequestQueue<Waiter>()
        var lastUse = -Double.infinity
    }
    struct Entered {
        let waiter: Waiter
        var pass: ScopeLimits.Pass
        let scope: Int
    }
    let scopes: [Scope] = (0..<20).map { _ in Scope() }
    /// The apps with any request so far, then the number of waiting requests of all apps. Both save time, because most
    /// ticks have no work.
    private var used: [Int] = []
    private var waiting = 0
    var concurrency: AdaptiveConcurrency
    var shares = RequestShares()
    var gate = RequestQueue<Entered>()
    var slow = RequestsUnderWay()
    var failedProofs = FailedProofs()
    var underWay: [Int: (Entered, UInt64)] = [:]
    var lastAnswer = -Double.infinity
    let maximum: Int
    let policy = ParkingPolicy()
    init(maximum: Int) {
        concurrency = AdaptiveConcurrency(maximum: maximum)
        self.maximum = maximum
    }
    mutating func arrive(id: Int, scope: Int, isRetry: Bool, isParked: Bool, suspect: Suspect, now: Double) {
        if scopes[scope].lastUse == -.infinity { used.append(scope) }
        scopes[scope].lastUse = now
        waiting += 1
        let isFresh = !isRetry && !isParked && !failedProofs.contains(suspect.proof, now: now)
        let kind = RequestKind(isFresh: isFresh, isProven: true)
        scopes[scope].waiting.append(Waiter(id: id, since: now, suspect: suspect, kind: kind), kind)
    }
    mutating func start(now: Double) -> [Int] {
        if waiting == 0, gate.isEmpty { return [] }
        for number in used {
            let scope = scopes[number]
            if scope.waiting.isEmpty { continue }
            while let (waiter, pass) = scope.limits.next(of: &scope.waiting, now: now, since: { $0.since }) {
                waiting -= 1
                gate.append(Entered(waiter: waiter, pass: pass, scope: number), waiter.kind)
            }
        }
        var started: [Int] = []
        let limit = min(maximum, concurrency.limit + slow.slow(now: now))
        while let kind = gate.next(where: { shares.admits($0, beside: gate, limit: limit) }), var one = gate.take(kind)
        {
            let scope = scopes[one.scope]
            guard scope.limits.confirm(&one.pass, now: now) else {
                scope.limits.withdrew(one.pass, now: now, jitter: 0.5)
                scope.waiting.append(one.waiter, kind)
                waiting += 1
                continue
            }
            shares.began(kind)
            let number = concurrency.began(underWay: gate.isEmpty ? shares.total : limit)
            slow.began(number, now: now)
            underWay[one.waiter.id] = (one, number)
            started.append(one.waiter.id)
        }
        return started
    }
    mutating func ended(id: Int, isFine: Bool, isDoubtful: Bool, now: Double, jitter: Double) {
        guard let (one, number) = underWay.removeValue(forKey: id) else { return }
        let scope = scopes[one.scope]
        shares.ended(one.waiter.kind)
        slow.ended(number)
        let wasShut = scope.limits.isShut(now: now)
        if isFine {
            lastAnswer = now
            scope.limits.succeeded(one.pass, now: now)
            failedProofs.answered(one.waiter.suspect.proof)
            concurrency.ended(number, .fine)
        } else {
            scope.limits.failed(one.pass, by: one.waiter.suspect, now: now, jitter: jitter)
            failedProofs.note(one.waiter.suspect.proof, now: now)
            concurrency.ended(
                number,
                isDoubtful
                    ? .fine
                    : one.waiter.kind.isFresh && scope.limits.isWidespread(one.waiter.kind, now: now)
                        ? .overload : .unknown)
        }
        if wasShut, !scope.limits.isShut(now: now) { concurrency.restart() }
    }
    mutating func impatient(now: Double) -> [Int] {
        guard waiting > 0, !isDown(now: now) else { return [] }
        var ids: [Int] = []
        for number in used {
            let scope = scopes[number]
            let kinds = scope.limits.isShut(now: now) ? nil : RequestKind.deferrable
            ids += scope.waiting.takeFirst(kinds) { $0.since < now - 10 }.map(\.id)
        }
        waiting -= ids.count
        return ids
    }
    mutating func step(
        _ submission: inout PartialOutageSimulation.Submission, isSent: Bool, hasRoom: Bool, downSeconds: Double,
        jitter: Double, now: Double
    ) -> ParkingPolicy.Step {
        let time = Timestamp(milliseconds: 1_800_000_000_000 + Int64(now * 1000))
        let judgement = Judgement.undecided(.init(.status, wasAsked: isSent))
        if let since = submission.failedSince {
            submission.history.noteWait(seconds: max(0, now - since - (downSeconds - submission.downBefore)))
        }
        submission.failedSince = now
        submission.downBefore = downSeconds
        submission.history.note(judgement, now: time)
        if isSent, !isDown(now: now) { submission.history.noteFailureOfItsOwn() }
        let circumstances = ParkingPolicy.Circumstances(
            isParked: submission.isParked, isAppleOut: isDown(now: now), hasRoom: hasRoom,
            answersOthers: now - lastAnswer < 60)
        let step = policy.step(after: judgement, submission.history, circumstances, jitter: jitter, now: time)
        if case .park = step, ParkingPolicy.countsAgainst(judgement, circumstances) { submission.history.noteParking() }
        return step
    }
    func isDown(now: Double) -> Bool {
        var isAnyInUse = false
        for number in used {
            let scope = scopes[number]
            guard now - scope.lastUse < 60 || !scope.waiting.isEmpty else { continue }
            if !scope.limits.isShut(now: now) { return false }
            isAnyInUse = true
        }
        return isAnyInUse
    }
    var isAnyOpen: Bool { scopes.contains { $0.limits.circuits.ofProven.isOpen } }
}
