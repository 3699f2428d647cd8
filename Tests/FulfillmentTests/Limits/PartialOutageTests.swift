import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Tests with ten submissions a second, Apple's answers after 50 ms, and default settings. The clock is the
/// simulation's, so no test depends on the machine's speed.
@Suite("Simulated partial outages of Apple")
struct PartialOutageTests {
    private static func figures(_ outage: PartialOutage) -> OutageFigures {
        var simulation = PartialOutageSimulation(outage)
        return simulation.run()
    }

    @Test(
        "if Apple fails for up to 80 percent of submissions, players or apps, the others' median wait is below 0.1 s",
        arguments: [PartialOutage.Pattern.receipts, .players, .apps],
        [0, 5, 20, 40, 80])
    func some(pattern: PartialOutage.Pattern, percent: Int) {
        let figures = Self.figures(PartialOutage(pattern: pattern, amount: percent))
        #expect(figures.answeredInTime == figures.healthy)
        #expect(figures.median < 0.1)
        #expect(figures.p99 < (percent < 80 ? 0.2 : 5), "p99 \(figures.p99)")
        if percent < 80 { #expect(figures.secondsDown == 0) }
        // The retry budget allows ten retries a second, and two more for each answer.
        #expect(figures.wasted < 40)
        #expect(figures.mostInMemory < 500)
    }

    @Test(
        "if an endpoint hangs or answers 503 for some submissions, all other submissions are answered in time",
        arguments: [PartialOutage.Failure.hang, .serverError],
        [20, 40, 80])
    func otherFailures(failure: PartialOutage.Failure, percent: Int) {
        let figures = Self.figures(PartialOutage(failure: failure, amount: percent))
        #expect(figures.answeredInTime == figures.healthy)
        #expect(figures.median < 1)
        #expect(figures.p99 < 5, "p99 \(figures.p99)")
    }

    @Test("if Apple fails for 95 percent of submissions, players or apps, all other submissions are answered in time")
    func few() {
        for pattern in [PartialOutage.Pattern.receipts, .players, .apps] {
            let figures = Self.figures(PartialOutage(pattern: pattern, amount: 95, seconds: 300))
            #expect(figures.answeredInTime == figures.healthy)
            #expect(figures.median < 1)
        }
    }

    @Test("players whose receipts Apple never answers do not slow down other players", arguments: [1, 10, 120])
    func stuckPlayers(count: Int) {
        let figures = Self.figures(PartialOutage(pattern: .stuckPlayers, amount: count))
        #expect(figures.answeredInTime == figures.healthy)
        #expect(figures.p99 < 0.2)
        #expect(figures.secondsDown == 0)
    }

    @Test(
        "if failing players come first, the 99th percentile of the other players' waits stays below ten seconds",
        arguments: [10, 120])
    func stuckPlayersFirst(count: Int) {
        let figures = Self.figures(PartialOutage(pattern: .stuckPlayersFirst, amount: count))
        #expect(figures.answeredInTime == figures.healthy)
        #expect(figures.median < 0.1)
        #expect(figures.p99 < 10, "p99 \(figures.p99)")
    }

    @Test("if failing submissions first fill all 40 places in flight, the 99th percentile of other waits is below 90 s")
    func smallWindow() {
        let figures = Self.figures(PartialOutage(pattern: .stuckPlayersFirst, amount: 120, maximumInFlight: 40))
        #expect(figures.answeredInTime == figures.healthy)
        #expect(figures.p99 < 90, "p99 \(figures.p99)")
    }

    @Test("a minute after a partial outage, 99 percent of the failed submissions are answered", arguments: 1...5)
    func recovery(seed: UInt64) {
        let figures = Self.figures(PartialOutage(amount: 40, seconds: 180, seed: seed))
        #expect(figures.parked > 400)
        #expect(figures.drained < 60, "drained \(figures.drained)")
    }

    @Test("a half-hour outage parks under 3,000 of 18,000 submissions; 90 seconds later, 99 percent are answered")
    func longOutage() {
        let figures = Self.figures(
            PartialOutage(failure: .serverError, amount: 100, seconds: 1800, maximumInFlight: 200))
        #expect(figures.parked < 3000, "\(figures.parked) parked of 18,000")
        #expect(figures.drained < 90, "drained \(figures.drained)")
    }

    @Test("in a total outage, Apple counts as down and gets few requests, and the recovery is detected in ten seconds")
    func total() {
        for failure in [PartialOutage.Failure.status, .serverError, .hang] {
            let figures = Self.figures(PartialOutage(failure: failure, amount: 100, seconds: 300))
            #expect(figures.secondsDown > 270)
            #expect(figures.wasted < 3)
            #expect(figures.recovery <= 2 * 5.0)
            #expect(figures.drained < 30)
        }
    }

    @Test(
        "if Apple fails for part of every 10 s, the median wait stays below 1 s and the 99th percentile below 20 s",
        arguments: [5, 20, 40])
    func bursts(percent: Int) {
        let figures = Self.figures(PartialOutage(pattern: .bursts, amount: percent))
        #expect(figures.answeredInTime == figures.healthy)
        #expect(figures.median < 1)
        #expect(figures.p99 < 20, "p99 \(figures.p99)")
    }

    /// `OUTAGE_TABLE=1 swift test -c release --filter PartialOutageTests` prints the figures of docs/benchmarks.md.
    @Test("the simulation prints the outage figures of docs/benchmarks.md", .enabled(if: getenv("OUTAGE_TABLE") != nil))
    func table() {
        print(OutageFigures.tableHead)
        var outages: [PartialOutage] = []
        for pattern in [PartialOutage.Pattern.receipts, .players, .bursts, .apps] {
            for percent in [0, 5, 20, 40, 80, 95, 100] { outages.append(.init(pattern: pattern, amount: percent)) }
        }
        for failure in [PartialOutage.Failure.serverError, .hang] {
            for percent in [5, 20, 40, 80, 95, 100] { outages.append(.init(failure: failure, amount: percent)) }
        }
        for count in [1, 10, 120] { outages.append(.init(pattern: .stuckPlayers, amount: count)) }
        outages.append(.init(pattern: .stuckPlayersFirst, amount: 120))
        for var outage in outages {
            outage.seconds = 300
            print(Self.figures(outage).row(outage.name))
        }
    }
}
