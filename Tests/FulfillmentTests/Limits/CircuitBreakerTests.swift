import Testing

@testable import Fulfillment

extension Suspect {
    /// A player with a proof of their own.
    init(_ number: Int) { self.init(player: number, proof: -1 - number) }
}

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
        for number in 0..<CircuitBreaker.failuresInARow {
            guard let pass = breaker.pass(now: now) else { continue }
            breaker.failed(pass, by: Suspect(number), isDoubtful: false, now: now, jitter: 1)
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
                breaker.failed(pass, by: Suspect(number), isDoubtful: false, now: 5, jitter: 0)
            } else {
                breaker.succeeded(pass, now: 5)
            }
        }
        #expect(!breaker.isOpen)
        for number in 0..<30 where !breaker.isOpen {
            let success = try breaker.mustPass(now: 6)
            breaker.succeeded(success, now: 6)
            for one in 0..<3 where !breaker.isOpen {
                let failure = try breaker.mustPass(now: 6)
                breaker.failed(failure, by: Suspect(100 + 3 * number + one), isDoubtful: false, now: 6, jitter: 0)
            }
        }
        #expect(breaker.isOpen)
    }

    @Test("four suspects never open it, however often they fail and whatever they send; a fifth one does")
    func suspects() throws {
        for isDoubtful in [true, false] {
            var breaker = CircuitBreaker()
            for number in 0..<2000 {
                let now = Double(number) / 10
                let pass = try breaker.mustPass(now: now)
                // One player with many proofs, and one proof that many send, is one suspect each.
                let suspect =
                    switch number % 4 {
                    case 0: Suspect(player: 0, proof: number)
                    case 1: Suspect(player: number, proof: -1)
                    default: Suspect(number % 4 - 10)
                    }
                breaker.failed(pass, by: suspect, isDoubtful: isDoubtful, now: now, jitter: 0)
                try #require(!breaker.isOpen)
            }
            let pass = try breaker.mustPass(now: 199.95)
            breaker.failed(pass, by: Suspect(9), isDoubtful: isDoubtful, now: 199.95, jitter: 0)
            #expect(breaker.isOpen)
        }
    }

    @Test("receipts that a few suspects may have spoilt do not add up with a few failures of the network")
    func doubtful() throws {
        var breaker = CircuitBreaker()
        for number in 0..<6 {
            let pass = try breaker.mustPass(now: 1)
            breaker.failed(pass, by: Suspect(number), isDoubtful: number < 2, now: 1, jitter: 0)
            #expect(!breaker.isOpen)
        }
        let pass = try breaker.mustPass(now: 1)
        breaker.failed(pass, by: Suspect(6), isDoubtful: false, now: 1, jitter: 0)
        #expect(breaker.isOpen)
    }

    @Test("once a handful of suspects have failed, each failure counts, retries and all")
    func widespread() throws {
        for (suspects, mustOpen) in [(4, false), (13, true)] {
            var breaker = CircuitBreaker()
            for number in 0..<160 where !breaker.isOpen {
                let pass = try breaker.mustPass(now: 1)
                // A quarter is answered, after thirty that were.
                if number < 30 || number % 4 == 0 {
                    breaker.succeeded(pass, now: 1)
                } else {
                    breaker.failed(pass, by: Suspect(number % suspects), isDoubtful: false, now: 1, jitter: 0)
                }
            }
            #expect(breaker.isOpen == mustOpen)
            #expect(breaker.isWidespread == mustOpen)
        }
    }

    @Test("a receipt that fails again as a probe does not take back what others' probes found")
    func hopelessProbes() throws {
        var breaker = Self.open(at: 0)
        var now = 0.0
        for _ in 0..<CircuitBreaker.probes {
            try #require(breaker.isOpen)
            now = max(now, try #require(breaker.nextPass))
            let (other, hopeless) = try (breaker.mustPass(now: now), breaker.pass(now: now))
            // Before the other's end and after it.
            if let hopeless { breaker.failed(hopeless, by: Suspect(0), isDoubtful: false, now: now, jitter: 1) }
            breaker.succeeded(other, now: now)
            guard let late = breaker.pass(now: now), late.isProbe else { continue }
            breaker.failed(late, by: Suspect(1), isDoubtful: true, now: now, jitter: 1)
        }
        #expect(breaker.state == .closed)
        // All five that had opened it fail on: nobody else does, so it stays closed.
        for number in 0..<500 {
            now += 0.2
            let pass = try breaker.mustPass(now: now)
            breaker.failed(pass, by: Suspect(number % 5), isDoubtful: false, now: now, jitter: 1)
            try #require(!breaker.isOpen)
        }
    }

    @Test("in an outage with only known suspects, probes stay as rare as they were")
    func knownProbes() throws {
        var breaker = Self.open(at: 0)
        var sent = 0
        var now = 0.0
        while now < 600 {
            now += 0.05
            while let probe = breaker.pass(now: now) {
                sent += 1
                breaker.failed(probe, by: Suspect(sent % 5), isDoubtful: false, now: now, jitter: 0)
            }
        }
        // Half of five seconds is the shortest time between two.
        #expect(sent <= 250)
        #expect(sent >= 120)
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
            breaker.failed(probe, by: Suspect(7), isDoubtful: false, now: now, jitter: 1)
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
        for number in 0..<CircuitBreaker.failuresInARow {
            let pass = try breaker.mustPass(now: 0)
            breaker.failed(pass, by: Suspect(number), isDoubtful: false, now: 0, jitter: 1)
        }
        #expect(!breaker.isValid(old))
        let before = breaker.state
        if isSuccess {
            breaker.succeeded(old, now: 9)
        } else {
            breaker.failed(old, by: Suspect(9), isDoubtful: false, now: 9, jitter: 1)
        }
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
                        breaker.failed(
                            end.pass, by: Suspect(random.below(30)), isDoubtful: false, now: now,
                            jitter: Double(random.below(100)) / 100)
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
