import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import Testing

/// Tests the time after an import, in which some replicas have the old catalog and some the new catalog.
@Suite("Two replicas that have different catalogs and one database")
struct CatalogVersionTests {
    private static let purchases = 40

    /// Returns a submission's decision. The new catalog knows the product, and grants the purchase. The old catalog
    /// holds the purchase.
    private func decision(_ number: Int, catalog: Int64) -> PendingDecision {
        let purchase = Sample.purchase("\(1_000 + number)")
        let judged =
            catalog == 2 ? Sample.judged(purchase) : Sample.judged(purchase, nil, .hold(.unknownProduct))
        let offset = Int64(number) + catalog * 1_000
        return PendingDecision(
            submission: Sample.submission("s-\(offset)", player: "player-\(number)"),
            position: Sample.position(offset), proof: Sample.digest("proof \(offset)"), verdict: .each([judged]),
            environment: .production, evidence: nil, decidedAt: Sample.noon, catalogVersion: catalog, traceparent: nil)
    }

    @Test(
        "if replicas have different catalogs, no purchase is granted twice; the older catalog's replica leases no hold")
    func both() async throws {
        let database = try await LedgerDatabase()
        let (old, new) = (database.ledger(), database.ledger())
        let outcomes = try await withThrowingTaskGroup(of: [OutcomeEvent].self) { group in
            for number in 0..<Self.purchases {
                group.addTask { try await old.record(decision(number, catalog: 1)).events }
                group.addTask { try await new.record(decision(number, catalog: 2)).events }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        var granted = outcomes.filter { $0.kind == .granted }.map(\.subject)
        let holds = PostgresHolds(pool: database.pool)
        // A replica with the old catalog leases none of the holds that the old catalog decided.
        #expect(try await holds.leaseDue(catalogVersion: 1, limit: 100).isEmpty)
        let outdated = try await holds.leaseDue(catalogVersion: 2, limit: 100)
        #expect(Set(outdated.map(\.transactionID)).union(granted).count == Self.purchases)
        // Replicas with the old catalog no longer lease a hold that the new catalog has judged and kept.
        if let kept = outdated.first {
            try await holds.keepHeld([(hold: kept, reason: .retiredProduct)], catalogVersion: 2)
            #expect(try await holds.leaseDue(catalogVersion: 1, limit: 100).isEmpty)
            #expect(try await holds.leaseDue(catalogVersion: 2, limit: 100).isEmpty)
            #expect(
                try await holds.leaseDue(catalogVersion: 3, limit: 100).map(\.transactionID) == [kept.transactionID])
        }
        for hold in outdated.dropFirst() {
            let purchase = Sample.purchase(hold.transactionID.text)
            let settled = try await holds.settle(
                HoldDecision(
                    hold, verdict: .each([Sample.judged(purchase)]), environment: .production, decidedAt: Sample.noon,
                    catalogVersion: 2))
            granted += settled.map { [$0.subject] } ?? []
        }
        #expect(Set(granted).count == granted.count)
        #expect(granted.count == Self.purchases - min(outdated.count, 1))
        #expect(try await database.number("SELECT count(*) FROM grants") == granted.count)
        #expect(
            try await database.number("SELECT count(DISTINCT event_id) FROM outbox WHERE event IS NULL")
                == granted.count)
        await old.close()
        await new.close()
    }
}
