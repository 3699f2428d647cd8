import TestSupport
import Testing

@testable import Fulfillment

extension Suspect {
    /// Makes a suspect: a player with a proof that no other player sends.
    init(_ number: Int) { self.init(player: number, proof: -1 - number) }
}

extension CircuitBreaker {
    /// Returns the pass, or throws if the circuit gives none. `#require` itself cannot call a mutating function.
    fileprivate mutating func mustPass(isFirst: Bool = true, now: Double) throws -> Pass {
        let pass = pass(isFirst: isFirst, now: now)
        return try #require(pass)
    }

    /// Fails different first tries until the circuit opens. Returns their number; nil if `FirstTries.mostFailures` are
    /// not enough.
    fileprivate mutating func fail(now: Double) throws -> Int? {
        for number in 0..<FirstTries.mostFailures {
            let pass = try mustPass(now: now)
            failed(pass, by: Suspect(number), now: now, jitter: 1)
            if isOpen { return number + 1 }
        }
        return nil
    }
}

@Suite("The circuit breaker for requests to Apple")
struct CircuitBreakerTests {
    private static func open(at now: Double) throws -> CircuitBreaker {
        var breaker = CircuitBreaker()
        _ = try breaker.fail(now: now)
        return breaker
    }

    @Test(
        "if the first tries of 20 different players fail in a row, the circuit opens until the time of the first probe"
    )
    func opens() throws {
        var breaker = CircuitBreaker()
        #expect(try breaker.fail(now: 100) == FirstTries.fewestFailures)
        #expect(breaker.state == .open(until: 101))
        let early = breaker.pass(isFirst: true, now: 100.9)
        #expect(early == nil)
        let probe = try breaker.mustPass(now: 101)
        #expect(probe.isProbe)
        #expect(breaker.state == .halfOpen)
    }

    @Test(
        "while Apple answers some requests, failures of the other requests open the circuit rarely or never",
        arguments: [20, 40, 80, 90])
    func partial(percent: Int) throws {
        var random = SeededRandom(seed: 7)
        var breaker = CircuitBreaker()
        var opened = 0
        for number in 0..<20_000 {
            let now = Double(number) / 10
            guard let pass = breaker.pass(isFirst: true, now: now) else { continue }
            if random.chance(percent) {
                let wasOpen = breaker.isOpen
                breaker.failed(pass, by: Suspect(number), now: now, jitter: 0.5)
                if breaker.isOpen, !wasOpen { opened += 1 }
            } else {
                breaker.succeeded(pass, now: now)
            }
        }
        // The circuit opens at a run of failures that chance produces once in a thousand runs. A few more openings are
        // allowed, because the breaker only estimates the share of answered tries.
        #expect(opened <= (percent < 80 ? 0 : 20))
    }

    @Test("any number of failures of only ten players or proofs never opens the circuit")
    func suspects() throws {
        var breaker = CircuitBreaker()
        for number in 0..<5000 {
            let now = Double(number) / 10
            let pass = try breaker.mustPass(now: now)
            // A player with many proofs is one suspect. A proof that many players send is one suspect too.
            let suspect =
                switch number % 10 {
                case 0: Suspect(player: 0, proof: number)
                case 1: Suspect(player: number, proof: -1)
                default: Suspect(number % 10 - 100)
                }
            breaker.failed(pass, by: suspect, now: now, jitter: 0)
            try #require(!breaker.isOpen)
        }
    }

    @Test("failed retries do not open the circuit, however many proofs fail again")
    func repeated() throws {
        var breaker = CircuitBreaker()
        for number in 0..<1000 {
            let pass = try breaker.mustPass(isFirst: false, now: 1)
            breaker.failed(pass, by: Suspect(number), now: 1, jitter: 0)
            try #require(!breaker.isOpen)
        }
    }

    @Test("one failed first try every four seconds does not open the circuit")
    func rare() throws {
        var breaker = CircuitBreaker()
        for number in 0..<200 {
            let pass = try breaker.mustPass(now: Double(number) * 4)
            breaker.failed(pass, by: Suspect(number), now: Double(number) * 4, jitter: 0)
            try #require(!breaker.isOpen)
        }
    }

    @Test("the smaller the share of answered tries, the more consecutive failures the circuit needs to open")
    func share() throws {
        var tries = FirstTries()
        #expect(tries.failuresNeeded == FirstTries.fewestFailures)
        for number in 0..<2_000 {
            if number % 10 == 0 {
                tries.succeeded(isFirst: true)
            } else {
                tries.failed(by: Suspect(number), now: 0)
            }
        }
        #expect((50...100).contains(tries.failuresNeeded))
        for number in 0..<2_000 { tries.failed(by: Suspect(number), now: 0) }
        #expect(tries.areHopeless)
    }

    @Test(
        "one answered probe closes the circuit, whether the probe is a first try or a retry",
        arguments: [true, false])
    func closes(isFirst: Bool) throws {
        var breaker = try Self.open(at: 0)
        let probe = try breaker.mustPass(isFirst: isFirst, now: 1)
        breaker.succeeded(probe, now: 1)
        #expect(breaker.state == .closed)
        let pass = try breaker.mustPass(now: 1)
        #expect(!pass.isProbe)
    }

    @Test("if a retry is the probe and fails, the circuit still allows a first try as the next probe without delay")
    func hopelessProbes() throws {
        var breaker = try Self.open(at: 0)
        var now = 1.0
        for _ in 0..<100 {
            now = max(now, try #require(breaker.nextPass(isFirst: false)))
            let hopeless = try breaker.mustPass(isFirst: false, now: now)
            let second = breaker.pass(isFirst: false, now: now)
            #expect(second == nil)
            breaker.failed(hopeless, by: Suspect(3), now: now, jitter: 1)
            #expect(try #require(breaker.nextPass(isFirst: true)) <= now)
        }
        let probe = try breaker.mustPass(now: now)
        breaker.succeeded(probe, now: now)
        #expect(!breaker.isOpen)
    }

    @Test("each failed round of probes keeps the circuit open for longer, up to five seconds")
    func probes() throws {
        var breaker = try Self.open(at: 0)
        var now = 0.0
        var waits: [Double] = []
        for _ in 0..<6 {
            let next = try #require(breaker.nextPass(isFirst: true))
            waits.append(next - now)
            now = next
            let probes = (0..<30).compactMap { _ in breaker.pass(isFirst: true, now: now) }
            #expect((CircuitBreaker.probes...CircuitBreaker.mostProbes).contains(probes.count))
            for probe in probes { breaker.failed(probe, by: Suspect(7), now: now, jitter: 1) }
        }
        #expect(waits == [1, 2, 4, 5, 5, 5])
    }

    @Test("one answered probe of a round closes the circuit, even if the round's other probes failed")
    func oneOfFive() throws {
        var breaker = try Self.open(at: 0)
        let probes = (0..<CircuitBreaker.probes).compactMap { _ in breaker.pass(isFirst: true, now: 1) }
        for (number, probe) in probes.dropLast().enumerated() {
            breaker.failed(probe, by: Suspect(number), now: 1, jitter: 1)
            #expect(breaker.state == .halfOpen)
        }
        breaker.succeeded(try #require(probes.last), now: 1)
        #expect(!breaker.isOpen)
    }

    @Test("probes that hang do not prevent a later probe from closing the circuit")
    func hangingProbes() throws {
        var breaker = try Self.open(at: 0)
        for _ in 0..<CircuitBreaker.probes { _ = try breaker.mustPass(now: 2) }
        let early = breaker.pass(isFirst: true, now: 3)
        #expect(early == nil)
        let now = try #require(breaker.nextPass(isFirst: true))
        #expect(now == 2 + CircuitBreaker.longestOpenSeconds)
        let probe = try breaker.mustPass(now: now)
        breaker.succeeded(probe, now: now)
        #expect(!breaker.isOpen)
    }

    @Test("after the circuit closes, requests that had waited for it reopen the circuit only if 200 of them fail")
    func backlog() throws {
        var breaker = try Self.open(at: 0)
        let probe = try breaker.mustPass(now: 10)
        breaker.succeeded(probe, now: 10)
        for number in 0..<FirstTries.mostFailures {
            #expect(!breaker.isOpen)
            let pass = breaker.pass(isFirst: true, since: 5, now: 10)
            breaker.failed(try #require(pass), by: Suspect(number), now: 10, jitter: 1)
        }
        #expect(breaker.isOpen)
    }

    @Test("while the circuit is open, its probes are the newest and the oldest waiting request in turn")
    func newestAndOldest() throws {
        var limits = ScopeLimits(perSecond: 0)
        let kind = RequestKind(isFresh: true, isProven: true)
        for number in 0..<FirstTries.fewestFailures {
            guard case .pass(let pass) = limits.admit(kind, now: 0) else { continue }
            limits.failed(pass, by: Suspect(number), now: 0, jitter: 1)
        }
        #expect(limits.circuits.ofProven.isOpen)
        var queue = RequestQueue<Int>()
        for number in 0..<100 { queue.append(number, kind) }
        var probing: [Int] = []
        while let (element, _) = limits.next(of: &queue, now: 1, since: { _ in 0 }) { probing.append(element) }
        #expect(probing.starts(with: [99, 0, 98, 1, 97]))
    }

    @Test(
        "if a request was sent before the circuit opened, the request's result does not change the circuit",
        arguments: [true, false])
    func oldResults(isSuccess: Bool) throws {
        var breaker = CircuitBreaker()
        let old = try breaker.mustPass(now: 0)
        _ = try breaker.fail(now: 0)
        #expect(!breaker.isValid(old))
        let before = breaker.state
        if isSuccess {
            breaker.succeeded(old, now: 9)
        } else {
            breaker.failed(old, by: Suspect(9), now: 9, jitter: 1)
        }
        #expect(breaker.state == before)
    }

    @Test(
        "in random schedules, the circuit allows few simultaneous probes, and closes within 40 seconds after the fault")
    func randomSchedules() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed: seed)
        for _ in 0..<2_000 {
            var breaker = CircuitBreaker()
            var now = 0.0
            let faultEnds = Double(random.below(60))
            let latency = Double(random.below(20)) / 4
            var underWay: [(pass: CircuitBreaker.Pass, ends: Double, isFine: Bool)] = []
            while now < faultEnds + 6.001 + latency * 2 {
                now += Double(random.below(400)) / 1000
                for end in underWay where end.ends <= now {
                    if random.chance(3) {
                        breaker.withdrew(end.pass, now: now, jitter: 0.5)
                    } else if end.isFine {
                        breaker.succeeded(end.pass, now: now)
                    } else {
                        breaker.failed(
                            end.pass, by: Suspect(random.below(300)), now: now, jitter: Double(random.below(100)) / 100)
                    }
                }
                underWay.removeAll { $0.ends <= now }
                for _ in 0..<10 {
                    guard let pass = breaker.pass(isFirst: random.chance(70), now: now) else { break }
                    underWay.append((pass, now + latency, now >= faultEnds))
                }
                let valid = underWay.filter { $0.pass.isProbe && breaker.isValid($0.pass) }.count
                // The breaker allows one round of probes and one retry. While these probes hang, it allows two more
                // probes every five seconds.
                try #require(valid <= CircuitBreaker.mostProbes + 1 + 2 * (Int(latency / 5) + 1), "seed \(seed)")
            }
            // If a probe is withdrawn, one more round is needed.
            while breaker.isOpen, now < faultEnds + 40 {
                now += 0.5
                if let pass = breaker.pass(isFirst: true, now: now) { breaker.succeeded(pass, now: now) }
            }
            try #require(!breaker.isOpen, "seed \(seed)")
        }
    }
}
