import Testing

@testable import Fulfillment

extension CircuitBreaker {
    /// Test macros cannot call what mutates.
    fileprivate mutating func mustPass(now: Double) throws -> Pass {
        let pass = pass(now: now)
        return try #require(pass)
    }
}

@Suite("The circuit breaker")
struct CircuitBreakerTests {
    private static func open(at now: Double) -> CircuitBreaker {
        var breaker = CircuitBreaker()
        for _ in 0..<CircuitBreaker.failuresInARow {
            if let pass = breaker.pass(now: now) { breaker.failed(pass, suspect: nil, now: now, jitter: 1) }
        }
        return breaker
    }

    @Test("five failures in a row open it, and nothing passes before the first probe is due")
    func opens() throws {
        var breaker = Self.open(at: 100)
        #expect(breaker.state == .open(until: 101))
        let early = breaker.pass(now: 100.9)
        #expect(early == nil)
        let probe = try breaker.mustPass(now: 101)
        #expect(probe.isProbe)
        #expect(breaker.state == .halfOpen)
    }

    @Test("half of many failing opens it, less than half does not")
    func share() throws {
        var breaker = CircuitBreaker()
        for number in 0..<40 {
            let pass = try breaker.mustPass(now: 5)
            if number % 3 == 0 {
                breaker.failed(pass, suspect: nil, now: 5, jitter: 0)
            } else {
                breaker.succeeded(pass, now: 5)
            }
        }
        #expect(!breaker.isOpen)
        for _ in 0..<30 where !breaker.isOpen {
            let success = try breaker.mustPass(now: 6)
            breaker.succeeded(success, now: 6)
            for _ in 0..<3 where !breaker.isOpen {
                let failure = try breaker.mustPass(now: 6)
                breaker.failed(failure, suspect: nil, now: 6, jitter: 0)
            }
        }
        #expect(breaker.isOpen)
    }

    @Test("failures that two players' receipts may have brought about never open it, a third player's do")
    func suspects() throws {
        var breaker = CircuitBreaker()
        for number in 0..<200 {
            let pass = try breaker.mustPass(now: 1)
            breaker.failed(pass, suspect: number % 2, now: 1, jitter: 0)
        }
        #expect(!breaker.isOpen)
        let pass = try breaker.mustPass(now: 1)
        breaker.failed(pass, suspect: 3, now: 1, jitter: 0)
        #expect(breaker.isOpen)
    }

    @Test("three probes close it, a failed one opens it for longer, and never for more than five seconds")
    func probes() throws {
        var breaker = Self.open(at: 0)
        var now = 0.0
        var waits: [Double] = []
        for _ in 0..<6 {
            let next = try #require(breaker.nextPass)
            waits.append(next - now)
            now = next
            let probe = try breaker.mustPass(now: now)
            breaker.failed(probe, suspect: nil, now: now, jitter: 1)
        }
        #expect(waits == [1, 2, 4, 5, 5, 5])
        now = try #require(breaker.nextPass)
        let probes = (0..<5).compactMap { _ in breaker.pass(now: now) }
        #expect(probes.count == CircuitBreaker.probes)
        for probe in probes { breaker.succeeded(probe, now: now) }
        #expect(breaker.state == .closed)
        let pass = try breaker.mustPass(now: now)
        #expect(!pass.isProbe)
    }

    @Test("probes that hang do not keep recovery from being found")
    func hangingProbes() throws {
        var breaker = Self.open(at: 0)
        for _ in 0..<CircuitBreaker.probes { _ = try breaker.mustPass(now: 2) }
        let early = breaker.pass(now: 3)
        #expect(early == nil)
        for _ in 0..<CircuitBreaker.probes {
            let now = try #require(breaker.nextPass)
            let probe = try breaker.mustPass(now: now)
            breaker.succeeded(probe, now: now)
        }
        #expect(!breaker.isOpen)
    }

    @Test("what began before the circuit opened has no say", arguments: [true, false])
    func oldResults(isSuccess: Bool) throws {
        var breaker = CircuitBreaker()
        let old = try breaker.mustPass(now: 0)
        for _ in 0..<CircuitBreaker.failuresInARow {
            let pass = try breaker.mustPass(now: 0)
            breaker.failed(pass, suspect: nil, now: 0, jitter: 1)
        }
        #expect(!breaker.isValid(old))
        let before = breaker.state
        if isSuccess { breaker.succeeded(old, now: 9) } else { breaker.failed(old, suspect: nil, now: 9, jitter: 1) }
        #expect(breaker.state == before)
    }

    @Test("thousands of random schedules: probes stay few, and a fault's end is found within six seconds")
    func randomSchedules() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed: seed)
        for _ in 0..<2_000 {
            var breaker = CircuitBreaker()
            var now = 0.0
            let faultEnds = Double(random.below(60))
            let latency = Double(random.below(20)) / 4
            var underWay: [(pass: CircuitBreaker.Pass, ends: Double, isFine: Bool)] = []
            var closedAt: Double?
            while now < faultEnds + 6.001 + latency * 2 {
                now += Double(random.below(400)) / 1000
                for end in underWay where end.ends <= now {
                    if random.chance(3) {
                        breaker.withdrew(end.pass)
                    } else if end.isFine {
                        breaker.succeeded(end.pass, now: now)
                    } else {
                        breaker.failed(end.pass, suspect: nil, now: now, jitter: Double(random.below(100)) / 100)
                    }
                }
                underWay.removeAll { $0.ends <= now }
                for _ in 0..<10 {
                    guard let pass = breaker.pass(now: now) else { break }
                    underWay.append((pass, now + latency, now >= faultEnds))
                }
                let valid = underWay.filter { $0.pass.isProbe && breaker.isValid($0.pass) }.count
                // Three, and one more for each five seconds that the others hang.
                try #require(valid <= CircuitBreaker.probes + Int(latency / 5) + 1, "seed \(seed)")
                if now < faultEnds + latency {
                    closedAt = nil
                } else if !breaker.isOpen, closedAt == nil {
                    closedAt = now
                }
            }
            // A withdrawn probe costs a round more.
            while breaker.isOpen, now < faultEnds + 40 {
                now += 0.5
                if let pass = breaker.pass(now: now) { breaker.succeeded(pass, now: now) }
            }
            try #require(!breaker.isOpen, "seed \(seed)")
        }
    }
}
