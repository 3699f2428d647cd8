import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

@Suite("Apple request budgets in memory and in PostgreSQL")
struct AppleBudgetConformance {
    private static func scope(_ name: String) -> AppleScope {
        AppleScope(bundleID: Identifier(name), endpoint: "verifyReceipt", environment: .production)
    }

    /// The budgets of two replicas.
    private func budgets(
        _ implementation: Implementation
    ) async throws -> (one: any AppleBudget, other: any AppleBudget) {
        switch implementation {
        case .inMemory:
            let budget = InMemoryBudget()
            return (budget, budget)
        case .postgres:
            let database = try await LedgerDatabase()
            return (
                PostgresAppleBudget(pool: database.pool),
                PostgresAppleBudget(pool: LedgerDatabase.pool(database.uri, size: 1))
            )
        }
    }

    @Test(
        "replicas lease the Apple budget without gaps; no lease is given once three seconds are leased ahead",
        arguments: Implementation.allCases)
    func leases(implementation: Implementation) async throws {
        let (budget, other) = try await budgets(implementation)
        var ends = 0.0
        for number in 0..<3 {
            let lease = try #require(
                try await (number == 1 ? other : budget).lease(10, for: Self.scope("a"), perSecond: 40))
            #expect(lease.lasts == 0.25)
            // A lease begins where the lease before it ended. Time has passed between the two calls, so `startsIn` may
            // be less. The first lease begins now.
            #expect(lease.startsIn <= ends)
            ends = lease.startsIn + lease.lasts
            #expect(try await budget.lease(1, for: Self.scope("b\(number)"), perSecond: 40)?.startsIn ?? 1 < 0.01)
        }
        #expect(try await budget.lease(150, for: Self.scope("a"), perSecond: 50) != nil)
        #expect(try await other.lease(1, for: Self.scope("a"), perSecond: 50) == nil)
    }

    @Test(
        "if a replica stops requests to Apple, all replicas see the stop, for an hour at most; leases are not delayed",
        arguments: Implementation.allCases)
    func holds(implementation: Implementation) async throws {
        let (budget, other) = try await budgets(implementation)
        #expect(try await other.holds().isEmpty)
        try await budget.hold(Self.scope("a"), seconds: 600)
        try await budget.hold(Self.scope("a"), seconds: 5)
        try await budget.hold(Self.scope("b"), seconds: 1_000_000)
        let holds = try await other.holds()
        #expect((300...600).contains(try #require(holds[Self.scope("a")])))
        #expect((3_500...3_600).contains(try #require(holds[Self.scope("b")])))
        #expect(try await budget.lease(1, for: Self.scope("a"), perSecond: 1)?.startsIn ?? 1 < 0.01)
        #expect(try await other.holds().count == 2)
    }
}
