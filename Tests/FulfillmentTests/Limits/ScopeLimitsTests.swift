import NamesAndTimes
import TestSupport
import Testing

@testable import Fulfillment

@Suite("All limits of an app's requests to one endpoint of Apple")
struct ScopeLimitsTests {
    private static let fresh = RequestKind(isFresh: true, isProven: true)

    private static func pass(
        _ limits: inout ScopeLimits, _ kind: RequestKind = fresh, now: Double
    ) -> ScopeLimits.Pass? {
        if case .pass(let pass) = limits.admit(kind, now: now) { return pass }
        return nil
    }

    @Test("a request that already got its pass must not start during a Retry-After or while the circuit is open")
    func confirmed() throws {
        var limits = ScopeLimits(perSecond: 0)
        let first = Self.pass(&limits, now: 0)
        var pass = try #require(first)
        limits.hold(until: 5)
        var isGood = limits.confirm(&pass, now: 1)
        #expect(!isGood)
        isGood = limits.confirm(&pass, now: 5)
        #expect(isGood)
        for number in 0..<FirstTries.fewestFailures {
            let failing = Self.pass(&limits, now: 6)
            limits.failed(try #require(failing), by: Suspect(number), now: 6, jitter: 0)
        }
        isGood = limits.confirm(&pass, now: 6)
        #expect(!isGood)
    }

    @Test("receiptd reports a Retry-After as new only if it ends clearly later than the Retry-After known before")
    func holds() {
        var limits = ScopeLimits(perSecond: 0)
        let isNews = [limits.hold(until: 10), limits.hold(until: 5), limits.hold(until: 10.1), limits.hold(until: 20)]
        #expect(isNews == [true, false, false, true])
    }

    @Test("if the budget for receiptd's own requests is spent, these requests wait, but submissions do not")
    func ownBudget() throws {
        var limits = ScopeLimits(perSecond: 5, forSubmissions: false)
        let queued = RequestKind(.queue, isFirst: true)
        var waiting = RequestQueue<String>()
        waiting.append("status", queued)
        waiting.append("submission", Self.fresh)
        let first = limits.next(of: &waiting, now: 0) { _ in 0 }
        #expect(first?.element == "submission")
        let second = limits.next(of: &waiting, now: 0) { _ in 0 }
        #expect(second == nil && limits.needingBudget(of: waiting) == 1)
        let toLease = limits.budget?.toLease(waiting: 1, now: 0)
        #expect(toLease == 1)
        limits.budget?.leased(BudgetLease(requests: 1, startsIn: 0, lasts: 0.2), now: 0, jitter: 0)
        let third = limits.next(of: &waiting, now: 0.1) { _ in 0 }
        #expect(third?.element == "status")
    }

    @Test("a failed request of receiptd's own counts for the circuit like a failed first try of a submission")
    func ownCircuit() throws {
        var limits = ScopeLimits(perSecond: 0)
        for number in 0..<FirstTries.fewestFailures {
            #expect(!limits.circuits.ofProven.isOpen)
            guard case .pass(let pass) = limits.admit(RequestKind(.background, isFirst: true), now: 0) else {
                Issue.record("held back after \(number)")
                return
            }
            limits.failed(pass, by: Suspect(number), now: 0, jitter: 1)
        }
        #expect(limits.circuits.ofProven.isOpen)
    }

    @Test("if a probe by a retry is withdrawn, the retry budget gets no token back, because the probe took none")
    func withdrawnProbe() throws {
        var limits = ScopeLimits(perSecond: 0)
        let retry = RequestKind(isFresh: false, isProven: true)
        func passes() -> Int {
            var count = 0
            while Self.pass(&limits, retry, now: 10) != nil { count += 1 }
            return count
        }
        #expect(passes() == Int(RetryBudget.capacity))
        for number in 0..<FirstTries.fewestFailures {
            let failing = Self.pass(&limits, now: 10)
            limits.failed(try #require(failing), by: Suspect(number), now: 10, jitter: 0)
        }
        // The probes pass at a time at which the budget has regained few tokens.
        let open = try #require(limits.circuits.ofProven.nextPass(isFirst: false))
        for _ in 0..<50 {
            let probe = Self.pass(&limits, retry, now: open)
            limits.withdrew(try #require(probe), now: open, jitter: 0)
        }
        let last = Self.pass(&limits, retry, now: open)
        limits.succeeded(try #require(last), now: open)
        // The success paid for two retries, and no time has passed since the success.
        #expect(passes() == Int(RetryBudget.paidBySuccess))
    }

    @Test(
        "APPLE_MAX_REQUESTS_PER_SECOND is the rate; notification history gets a tenth, and the sandbox a tenth of each")
    func rates() {
        func rate(_ endpoint: AppleEndpoint, _ environment: StoreEnvironment, _ setting: Double) -> AppleRate {
            AppleScope(bundleID: "b", endpoint: endpoint.rawValue, environment: environment).rate(ofSetting: setting)
        }
        #expect(rate(.verifyReceipt, .production, 40) == AppleRate(perSecond: 40))
        #expect(rate(.subscriptions, .sandbox, 40) == AppleRate(perSecond: 4))
        #expect(rate(.notificationHistory, .production, 40) == AppleRate(perSecond: 4))
        #expect(abs(rate(.notificationHistory, .sandbox, 40).perSecond - 0.4) < 0.001)
        // Without a setting, receiptd's own questions still have a limit, and submissions have none.
        #expect(rate(.verifyReceipt, .production, 0).perSecond == 0)
        for endpoint in AppleEndpoint.allCases where endpoint != .verifyReceipt {
            let rate = rate(endpoint, .production, 0)
            #expect(rate.perSecond > 0 && rate.perSecond <= 25 && !rate.isForSubmissions)
        }
        #expect(rate(.notificationHistory, .production, 0).perSecond == 5)
    }

    @Test("in random schedules, no request passes during a Retry-After, through an open circuit or on a spent budget")
    func randomSchedules() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed: seed)
        for _ in 0..<2_000 {
            var now = Double(random.below(1_000))
            let perSecond = random.chance(50) ? 0 : Double(1 + random.below(100))
            var limits = ScopeLimits(perSecond: perSecond)
            var underWay: [ScopeLimits.Pass] = []
            var allowed = 0
            var sent = 0
            for _ in 0..<200 {
                now += Double(random.below(300)) / 1000
                if let requests = limits.budget?.toLease(waiting: 1 + random.below(5), now: now) {
                    let lease = BudgetLease(
                        requests: requests, startsIn: 0, lasts: Double(requests) / perSecond)
                    limits.budget?.leased(random.chance(90) ? lease : nil, now: now, jitter: 0)
                    allowed += requests
                }
                let wasHeld = limits.isHeld(now: now)
                let kind = RequestKind(isFresh: random.chance(50), isProven: random.chance(50))
                let next = limits.circuits[kind].nextPass(isFirst: kind.isFresh) ?? now
                switch limits.admit(kind, now: now) {
                case .pass(let pass):
                    try #require(!wasHeld && next <= now, "seed \(seed)")
                    sent += 1
                    underWay.append(pass)
                case .shut: try #require(wasHeld || next > now, "seed \(seed)")
                case .noBudget: try #require(perSecond > 0, "seed \(seed)")
                case .noRetry: try #require(!kind.isFresh, "seed \(seed)")
                }
                try #require(perSecond == 0 || sent <= allowed, "seed \(seed)")
                guard !underWay.isEmpty, random.chance(60) else { continue }
                let pass = underWay.remove(at: random.below(underWay.count))
                switch random.below(5) {
                case 0: limits.withdrew(pass, now: now, jitter: 0)
                case 1: limits.hold(until: now + Double(random.below(10)))
                case 2: limits.succeeded(pass, now: now)
                default:
                    limits.failed(
                        pass, by: Suspect(random.below(1000)), now: now,
                        jitter: Double(random.below(100)) / 100)
                }
                // A request that the limits hold back until a later time must get a time at which they look at it
                // again.
                var waiting = RequestQueue<Int>()
                waiting.append(1, kind)
                let later = limits.circuits[kind].nextPass(isFirst: kind.isFresh).map { $0 > now }
                if limits.isShut(kind, now: now), later ?? limits.isHeld(now: now) {
                    try #require(limits.nextLook(for: waiting, now: now) != nil, "seed \(seed)")
                }
            }
        }
    }
}
