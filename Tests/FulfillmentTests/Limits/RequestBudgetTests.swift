import TestSupport
import Testing

@testable import Fulfillment

/// The budget row of the database, as a value on the same virtual clock.
private struct ModelRow {
    var leasedUntil = -Double.infinity

    mutating func lease(_ requests: Int, perSecond: Double, now: Double) -> BudgetLease? {
        guard leasedUntil < now + 1 else { return nil }
        let from = max(leasedUntil, now)
        let lasts = Double(requests) / perSecond
        leasedUntil = from + lasts
        return BudgetLease(requests: requests, startsIn: from - now, lasts: lasts)
    }
}

/// A replica with its number of waiting requests and its lease call under way.
private struct ModelReplica {
    var budget: RequestBudget
    var waiting = 0
    var answer: (at: Double, lease: BudgetLease?)?
}

/// Replicas that share one row, on a virtual clock.
private struct ModelFleet {
    let perSecond: Double
    var row = ModelRow()
    var replicas: [ModelReplica]
    var sent: [Double] = []
    var leases = 0

    init(perSecond: Double, replicas: Int) {
        self.perSecond = perSecond
        self.replicas = (0..<replicas).map { _ in ModelReplica(budget: RequestBudget(perSecond: perSecond)) }
    }

    /// - Parameters:
    ///   - arrivals: returns the number of requests that arrive at a replica in this step.
    ///   - latency: returns the seconds that the database takes for a lease call that begins now.
    mutating func step(now: Double, arrivals: (Int) -> Int, latency: () -> Double, jitter: Double) {
        for index in replicas.indices {
            let count = arrivals(index)
            for _ in 0..<count { replicas[index].budget.arrived(now: now) }
            replicas[index].waiting += count
            if let answer = replicas[index].answer, answer.at <= now {
                replicas[index].answer = nil
                replicas[index].budget.leased(answer.lease, now: now, jitter: jitter)
            }
            while replicas[index].waiting > 0, replicas[index].budget.take(now: now) != nil {
                replicas[index].waiting -= 1
                sent.append(now)
            }
            let waiting = replicas[index].waiting
            guard let requests = replicas[index].budget.toLease(waiting: waiting, now: now) else { continue }
            leases += 1
            let latency = latency()
            // The database locks the row halfway through the call. The replica learns of the lease at the end of the
            // call.
            let lease = row.lease(requests, perSecond: perSecond, now: now + latency / 2)
            replicas[index].answer = (now + latency, lease)
        }
    }

    /// The most requests in any ten seconds.
    var worstWindow: Int {
        var worst = 0
        var first = 0
        for last in sent.indices {
            while sent[last] - sent[first] >= 10 { first += 1 }
            worst = max(worst, last - first + 1)
        }
        return worst
    }

    func sent(after time: Double) -> Int { sent.filter { $0 >= time }.count }
}

@Suite("The fleet's request budget")
struct RequestBudgetTests {
    private static func run(
        _ fleet: inout ModelFleet, seconds: Double, arrivals: (Int, Double) -> Int, latency: () -> Double
    ) {
        var now = 0.0
        while now < seconds {
            now += 0.005
            fleet.step(now: now, arrivals: { arrivals($0, now) }, latency: latency, jitter: 0.5)
        }
    }

    @Test(
        "one, two or ten busy replicas use 90 percent of the request budget, and at most 105 percent in any 10 seconds",
        arguments: [1, 2, 10])
    func busy(replicas: Int) {
        var fleet = ModelFleet(perSecond: 50, replicas: replicas)
        Self.run(&fleet, seconds: 60, arrivals: { _, _ in 5 }, latency: { 0.004 })
        #expect(fleet.worstWindow <= 525)
        #expect(fleet.sent(after: 10) >= 2_250)
        // A replica makes a few lease calls a second, fewer than its requests.
        #expect(fleet.leases <= 60 * 16 * replicas)
    }

    @Test("a nearly idle replica and a busy replica together use 90 percent of the request budget")
    func trickle() {
        var fleet = ModelFleet(perSecond: 50, replicas: 2)
        var count = 0
        Self.run(
            &fleet, seconds: 60,
            arrivals: { replica, _ in
                if replica == 0 { return 5 }
                count += 1
                return count % 67 == 0 ? 1 : 0
            }, latency: { 0.004 })
        #expect(fleet.worstWindow <= 525)
        #expect(fleet.sent(after: 10) >= 2_250)
        #expect(fleet.replicas[1].waiting <= 4)
    }

    @Test("after an idle minute, the fleet uses at most 105 percent of the request budget in any ten seconds")
    func idle() {
        var fleet = ModelFleet(perSecond: 50, replicas: 2)
        Self.run(&fleet, seconds: 90, arrivals: { _, now in now > 60 ? 5 : 0 }, latency: { 0.004 })
        #expect(fleet.worstWindow <= 525)
        #expect(fleet.sent.count >= 1_350)
    }

    @Test(
        "three replicas use 90 percent of a budget of 0.5 requests a second, and send at most 6 requests in ten seconds"
    )
    func slow() {
        var fleet = ModelFleet(perSecond: 0.5, replicas: 3)
        Self.run(&fleet, seconds: 100, arrivals: { _, _ in 1 }, latency: { 0.004 })
        #expect(fleet.worstWindow <= 6)
        #expect(fleet.sent.count >= 45)
    }

    @Test(
        "with random rates, loads and database times, a fleet uses at most 105 percent of its budget in any ten seconds"
    )
    func randomFleets() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed: seed)
        for _ in 0..<60 {
            let rate = Double(50 + random.below(450))
            var fleet = ModelFleet(perSecond: rate, replicas: 1 + random.below(5))
            let loads = fleet.replicas.map { _ in random.below(8) }
            let slowest = 1 + random.below(120)
            Self.run(
                &fleet, seconds: 25, arrivals: { replica, now in Int(now) % 7 < loads[replica] ? random.below(6) : 0 },
                latency: { Double(random.below(slowest)) / 1000 })
            try #require(Double(fleet.worstWindow) <= rate * 10.5, "seed \(seed)")
        }
    }
}
