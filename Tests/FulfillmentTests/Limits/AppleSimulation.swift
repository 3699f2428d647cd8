import NamesAndTimes
import TestSupport

@testable import Fulfillment

/// A simulation of one replica and of Apple, on a simulated clock. Apple fails, limits, slows down and recovers, and
/// never answers some receipts. Limits, retry delays and parking are the real types. The seed decides everything else.
struct AppleSimulation {
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private enum Mode {
        case fine
        case slow
        /// Apple answers 503.
        case failing
        /// Apple never answers, and the client gives up.
        case hanging
        /// Apple answers 429.
        case limiting(retryAfter: Double)

        var isAnswer: Bool {
            switch self {
            case .fine, .slow: true
            case .failing, .hanging, .limiting: false
            }
        }
    }

    private struct Submission {
        var history = WaitingHistory()
        var isParked = false
        /// The time before which Apple wants no request for this submission.
        var notBefore = -Double.infinity
        /// Whether Apple never answers this submission.
        var isStuck = false
        var player = 0
    }

    private struct UnderWay {
        let submission: Int
        let pass: ScopeLimits.Pass
        let number: UInt64
        let ends: Double
        let mode: Mode
    }

    private struct Work {
        var submissions: [Submission] = []
        /// The times at which the next submissions arrive, the latest first.
        var arriving: [Double] = []
        /// The submissions that sleep in memory or are parked, with the end of each wait.
        var waiting: [(until: Double, submission: Int)] = []
        var underWay: [UnderWay] = []
    }

    static let tick = 0.02
    static let timeout = 2.0
    /// The seconds of trouble in a run, then the seconds after the trouble in which submissions still arrive.
    static let trouble = 60.0
    static let afterwards = 60.0
    /// The number of players whose receipts Apple never answers.
    static let stuckPlayers = 8
    /// The seconds after the trouble until the circuit must be closed, then until Apple must have answered everything.
    static let closesWithin = 30.0
    static let endsWithin = 900.0

    private let policy = ParkingPolicy(
        retry: RetryDelay(initialSeconds: 0.2, maximumSeconds: 5, doubtSeconds: 5), parkAfterSeconds: 3)
    private var random: SeededRandom
    private let phases: [(until: Double, mode: Mode)]
    private let maximum: Int
    private let perSecond: Double
    private var limits: ScopeLimits
    private var concurrency: AdaptiveConcurrency
    private var now = 0.0
    private var work = Work()
    private var queue = RequestQueue<Int>()
    private var failedProofs = FailedProofs()
    private var arrivedAt: [Int: Double] = [:]
    private var sent: [Double] = []
    /// The end of the last lease in the budget row that the fleet shares.
    private var leasedUntil = 0.0
    private var answered = 0
    private let toAnswer: Int

    init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        maximum = 1 + random.below(64)
        perSecond = random.chance(30) ? Double(5 + random.below(50)) : 0
        limits = ScopeLimits(perSecond: perSecond)
        concurrency = AdaptiveConcurrency(maximum: maximum)
        var phases: [(until: Double, mode: Mode)] = []
        var until = 0.0
        while until < Self.trouble {
            until = min(Self.trouble, until + 1 + Double(random.below(150)) / 10)
            let mode: Mode =
                switch random.below(6) {
                case 0, 1: .fine
                case 2: .slow
                case 3: .failing
                case 4: .hanging
                default: .limiting(retryAfter: Double(random.below(12)))
                }
            phases.append((until, mode))
        }
        self.phases = phases
        let lasts = Int(1000 * (Self.trouble + Self.afterwards))
        work.arriving = (0..<(40 + random.below(400))).map { _ in Double(random.below(lasts)) / 1000 }.sorted(by: >)
        let stuck = random.chance(50) ? random.below(20) : 0
        work.submissions = (0..<work.arriving.count).map { Submission(player: Self.stuckPlayers + $0) }
        for number in 0..<min(stuck, work.arriving.count) {
            let index = random.below(work.submissions.count)
            work.submissions[index].isStuck = true
            work.submissions[index].player = number % Self.stuckPlayers
        }
        toAnswer = work.submissions.count { !$0.isStuck }
        self.random = random
    }

    private var mode: Mode { phases.first { now < $0.until }?.mode ?? .fine }

    mutating func run() throws {
        var openSince = Self.trouble
        while answered < toAnswer || now < Self.trouble {
            now += Self.tick
            while let next = work.arriving.last, next <= now {
                work.arriving.removeLast()
                ask(work.submissions.count - work.arriving.count - 1)
            }
            for end in work.underWay where end.ends <= now { try finish(end) }
            work.underWay.removeAll { $0.ends <= now }
            let awake = work.waiting.filter { $0.until <= now }
            work.waiting.removeAll { $0.until <= now }
            for one in awake { ask(one.submission) }
            lease()
            try send()
            guard (1...maximum).contains(concurrency.limit) else {
                throw Fault(description: "a limit of \(concurrency.limit), not of 1 to \(maximum)")
            }
            // While no submission waits at the circuit, no request can show that Apple is back, so this time does not
            // count.
            if ![true, false].contains(where: isHeldUp) { openSince = max(now, Self.trouble) }
            guard now - openSince < Self.closesWithin else {
                throw Fault(description: "the circuit stays open \(now - openSince) s after the trouble, at \(now)")
            }
            guard now < Self.trouble + Self.endsWithin else {
                throw Fault(description: "\(toAnswer - answered) are unanswered")
            }
        }
        try checkRate()
    }

    private mutating func lease() {
        guard let wanted = limits.budget?.toLease(waiting: queue.count, now: now) else { return }
        // Like the real row, this budget row does not save unused requests, and leases at most a second ahead.
        let start = max(leasedUntil, now)
        let jitter = unit()
        guard start - now < 1, !random.chance(5) else {
            limits.budget?.leased(nil, now: now, jitter: jitter)
            return
        }
        let lasts = Double(wanted) / perSecond
        leasedUntil = start + lasts
        limits.budget?.leased(
            BudgetLease(requests: wanted, startsIn: start - now, lasts: lasts), now: now, jitter: jitter)
    }

    /// Returns whether the circuit is open although a submission waits that Apple would answer.
    private func isHeldUp(isProven: Bool) -> Bool {
        guard limits.circuits[isProven: isProven].isOpen else { return false }
        var others = queue
        return (others.takeAll() + work.underWay.map(\.submission)).contains {
            !work.submissions[$0].isStuck && Self.isProven($0) == isProven
        }
    }

    private static func isProven(_ submission: Int) -> Bool { submission.isMultiple(of: 2) }

    private mutating func ask(_ submission: Int) {
        let one = work.submissions[submission]
        let isKnown = failedProofs.contains(-1 - submission, now: now)
        let isFresh = one.history.failures == 0 && !one.isParked && !isKnown
        arrivedAt[submission] = now
        queue.append(submission, RequestKind(isFresh: isFresh, isProven: Self.isProven(submission)))
    }

    private mutating func send() throws {
        while work.underWay.count < concurrency.limit {
            let isHeld = limits.isHeld(now: now)
            let next = [true, false].map { isProven in
                [true, false].compactMap { limits.circuits[isProven: isProven].nextPass(isFirst: $0) }.min()
            }
            guard let (submission, admitted) = limits.next(of: &queue, now: now, since: { arrivedAt[$0] ?? 0 }) else {
                return
            }
            var pass = admitted
            guard limits.confirm(&pass, now: now) else {
                limits.withdrew(pass, now: now, jitter: unit())
                queue.append(submission, pass.kind)
                return
            }
            let mustWait = next[pass.kind.isProven ? 0 : 1].map { now < $0 } ?? false
            if isHeld || mustWait { throw Fault(description: "asked at \(now) although the way is shut") }
            if now < work.submissions[submission].notBefore - Self.tick {
                throw Fault(description: "submission \(submission) is asked for before its Retry-After is over")
            }
            let mode = work.submissions[submission].isStuck && mode.isAnswer ? .failing : mode
            let takes =
                switch mode {
                case .hanging: Self.timeout
                case .slow: 0.5 + unit()
                case .fine, .failing, .limiting: 0.02 + unit() / 5
                }
            let number = concurrency.began(underWay: work.underWay.count + 1)
            sent.append(now)
            work.underWay.append(
                UnderWay(submission: submission, pass: pass, number: number, ends: now + takes, mode: mode))
        }
    }

    private mutating func finish(_ end: UnderWay) throws {
        let wasShut = limits.isShut(now: now)
        var trouble: AppleAnswer.Trouble?
        switch end.mode {
        case .fine, .slow:
            limits.succeeded(end.pass, now: now)
            failedProofs.answered(-1 - end.submission)
            concurrency.ended(end.number, .fine)
            answered += 1
        case .failing, .hanging:
            let jitter = unit()
            let suspect = Suspect(player: work.submissions[end.submission].player, proof: -1 - end.submission)
            limits.failed(end.pass, by: suspect, now: now, jitter: jitter)
            failedProofs.note(-1 - end.submission, now: now)
            let isTelling = end.pass.kind.isFresh && limits.isWidespread(end.pass.kind, now: now)
            concurrency.ended(end.number, isTelling ? .overload : .unknown)
            trouble = .init(.serverError)
        case .limiting(let seconds):
            limits.withdrew(end.pass, now: now, jitter: unit())
            if limits.hold(until: now + seconds) { concurrency.calm() }
            concurrency.ended(end.number, .overload)
            trouble = .init(.rateLimited, retryNotBefore: time.adding(milliseconds: Int64(seconds * 1000)))
            work.submissions[end.submission].notBefore = now + seconds
        }
        if wasShut, !limits.isShut(now: now) { concurrency.restart() }
        if let trouble { try wait(end.submission, trouble) }
    }

    private mutating func wait(_ index: Int, _ trouble: AppleAnswer.Trouble) throws {
        let judgement = Judgement.undecided(trouble)
        work.submissions[index].history.note(judgement, now: time)
        let isOut = limits.isShut(now: now)
        let step = policy.step(
            after: judgement, work.submissions[index].history,
            ParkingPolicy.Circumstances(
                isParked: work.submissions[index].isParked, isAppleOut: isOut, hasRoom: random.chance(90)),
            jitter: unit(), now: time)
        let seconds: Double
        switch step {
        case .tryAgain(let delay):
            seconds = delay
            if !isOut { work.submissions[index].history.noteWait(seconds: delay) }
            guard delay <= max(policy.retry.maximumSeconds, 12) else {
                throw Fault(description: "a wait of \(delay) s in memory")
            }
            guard work.submissions[index].history.waitedSeconds <= policy.parkAfterSeconds else {
                throw Fault(description: "\(work.submissions[index].history.waitedSeconds) s waited in memory")
            }
        case .park(_, let delay):
            seconds = delay
            work.submissions[index].isParked = true
            work.submissions[index].history.noteParking()
        }
        guard seconds >= ParkingPolicy.minimumDelay, seconds <= ParkingPolicy.longestSeconds else {
            throw Fault(description: "a wait of \(seconds) s")
        }
        work.waiting.append((now + seconds, index))
    }

    /// Throws if any ten seconds see more than 105 % of the rate.
    private func checkRate() throws {
        guard perSecond > 0 else { return }
        var first = 0
        for last in sent.indices {
            while sent[last] - sent[first] > 10 { first += 1 }
            // A slice has at least one whole request, so one request above the rate is allowed.
            guard Double(last - first + 1) <= 10 * perSecond * 1.05 + 1 else {
                throw Fault(description: "\(last - first + 1) requests in ten seconds, at \(perSecond) a second")
            }
        }
    }

    private var time: Timestamp { Timestamp(milliseconds: 1_800_000_000_000 + Int64(now * 1000)) }

    private mutating func unit() -> Double { Double(random.below(1_000_000)) / 1_000_000 }
}
