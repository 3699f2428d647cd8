import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import Testing

@Suite("The Apple request budget that replicas share in PostgreSQL")
struct AppleBudgetTests {
    private static func scope(_ name: String) -> AppleScope {
        AppleScope(bundleID: Identifier(name), endpoint: "verifyReceipt", environment: .production)
    }

    @Test(
        "if PostgreSQL's clock is set back an hour, the next lease of the Apple request budget starts within a second")
    func clockSetBack() async throws {
        let database = try await LedgerDatabase()
        let budget = PostgresAppleBudget(pool: database.pool)
        _ = try await budget.lease(1, for: Self.scope("a"), perSecond: 50)
        try await database.run("UPDATE apple_budgets SET leased_until = now() + interval '1 hour'")
        let lease = try #require(try await budget.lease(1, for: Self.scope("a"), perSecond: 50))
        #expect(lease.startsIn < 1)
    }

    /// Sends requests like a replica with more requests than the budget allows. Returns the times at which the replica
    /// sent, and the seconds for which this machine stalled the replica.
    private static func send(
        _ scope: AppleScope, uri: String, seconds: Double, perSecond: Double
    ) async throws -> (times: [Double], stalled: Double) {
        let pool = LedgerDatabase.pool(uri, size: 1)
        let shared = PostgresAppleBudget(pool: pool)
        let clock = ContinuousClock()
        let start = clock.now
        func now() -> Double { start.duration(to: clock.now) / .seconds(1) }
        var budget = RequestBudget(perSecond: perSecond)
        var sent: [Double] = []
        var stalled = 0.0
        var lastTurn = now()
        while now() < seconds {
            stalled += max(0, now() - lastTurn - 0.05)
            lastTurn = now()
            budget.arrived(now: now())
            while budget.take(now: now()) != nil { sent.append(now()) }
            if let requests = budget.toLease(waiting: 1_000, now: now()) {
                let lease = try await shared.lease(requests, for: scope, perSecond: perSecond)
                budget.leased(lease, now: now(), jitter: .random(in: 0..<1))
            }
            // The test must sleep, because the shared budget goes by PostgreSQL's clock.
            try await clock.sleep(for: .milliseconds(4))
        }
        stalled += max(0, now() - lastTurn - 0.05)
        await pool.close()
        return (sent, stalled)
    }

    @Test("under a budget of 50 requests a second, one or two busy replicas send about 500 requests in any ten seconds")
    func twoReplicas() async throws {
        let uri = try await LedgerDatabase().uri
        async let first = Self.send(Self.scope("both"), uri: uri, seconds: 11, perSecond: 50)
        async let second = Self.send(Self.scope("both"), uri: uri, seconds: 11, perSecond: 50)
        async let alone = Self.send(Self.scope("alone"), uri: uri, seconds: 11, perSecond: 50)
        let both = (try await first, try await second)
        let fleets = [
            (times: (both.0.times + both.1.times).sorted(), stalled: both.0.stalled + both.1.stalled), try await alone,
        ]
        for (sent, stalled) in fleets {
            for start in stride(from: 0.0, through: 1.0, by: 0.1) {
                let count = sent.filter { $0 >= start && $0 < start + 10 }.count
                #expect(count <= 525)
                // Requests that a replica could not send while the machine stalled are lost, because the budget saves
                // none.
                #expect(Double(count) >= 450 - stalled * 50)
            }
        }
    }
}
