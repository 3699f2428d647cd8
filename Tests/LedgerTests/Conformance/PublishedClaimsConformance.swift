import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

/// What published events tell of owners, in memory and in PostgreSQL.
@Suite("Every keeper of published claims")
struct PublishedClaimsConformance {
    private func claim(_ transaction: StoreTransactionID, _ player: PlayerID) -> PublishedClaim {
        PublishedClaim(
            originalTransactionID: transaction, transactionID: transaction, playerID: player, bundleID: Sample.bundle)
    }

    private func check(_ kind: ProductKind, _ ledger: any PurchaseLedger, _ claims: any PublishedClaims) async throws {
        func decide(_ id: String, _ player: String, _ offset: Int64) async throws -> RecordedOutcome {
            try await ledger.record(
                Sample.decision(
                    .each([Sample.judged(Sample.purchase(id), kind, .grant(payload: nil))]), player: player,
                    offset: offset, isDecidedAgain: true))
        }
        _ = try await decide("1001", "player-2", 1)
        for _ in 0...1 {
            try await claims.enter([claim("1000", "player-1"), claim("1001", "player-1")])
            try await claims.enter([claim("1000", "player-3")])
        }
        #expect(try await decide("1000", "player-2", 2).reason == .ownedByOtherPlayer)
        #expect(try await decide("1000", "player-1", 3).granted.map(\.subject) == ["1000"])
        #expect(try await decide("1000", "player-2", 4).reason == .ownedByOtherPlayer)
        // What is granted stays with whoever has it.
        #expect(try await decide("1001", "player-1", 5).reason == .ownedByOtherPlayer)
    }

    @Test(
        "what was published as granted is its player's, whoever comes first", arguments: Implementation.allCases,
        [ProductKind.consumable, .nonConsumable, .autoRenewableSubscription])
    func owners(implementation: Implementation, kind: ProductKind) async throws {
        switch implementation {
        case .inMemory:
            let ledger = InMemoryLedger()
            try await check(kind, ledger, ledger)
        case .postgres:
            let database = try await LedgerDatabase()
            let ledger = database.ledger()
            try await check(kind, ledger, PostgresClaims(pool: database.pool))
            await ledger.close()
        }
    }
}
