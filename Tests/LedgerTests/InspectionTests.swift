import Fulfillment
import Ledger
import Testing

@Suite("Inspecting")
struct InspectionTests {
    private func rows(_ section: String, of id: String, in database: LedgerDatabase) async throws -> [JSONValue] {
        let inspection = try await Inspection.of(id, days: 100_000, limit: 50, in: database.pool)
        return try #require(inspection.sections.first { $0.name == section }).rows
    }

    @Test("a submission, a transaction and a player are found in every table, and no receipt comes along")
    func everywhere() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let mixed = [
            Sample.judged(Sample.purchase("1001", original: "1000"), .nonConsumable),
            Sample.judged(Sample.purchase("2000"), .consumable, .hold(.unknownProduct)),
        ]
        _ = try await ledger.record(Sample.decision(mixed, offset: 1, submission: "sub", remembers: true))
        _ = try await ledger.record(Sample.decision(.whole(.accountNotFound, []), player: "player-2", offset: 2))
        for id in ["player-1", "1001", "sub", "1000"] {
            #expect(
                try await rows("grants", of: id, in: database).map { $0["transaction_id"]?.string } == ["1001"], "\(id)"
            )
            #expect(try await rows("claims", of: id, in: database).contains { $0["player_id"]?.string == "player-1" })
        }
        for id in ["player-1", "2000", "sub"] {
            #expect(try await rows("holds", of: id, in: database).map { $0["reason"]?.string } == ["unknown_product"])
        }
        for id in ["player-1", "1001", "sub"] {
            #expect(try await rows("outcomes", of: id, in: database).map { $0["answer"]?.string } == ["receipt.held"])
            #expect(try await rows("proofs", of: id, in: database).count == 1)
        }
        #expect(try await rows("outbox", of: "player-1", in: database).count == 2)
        #expect(
            try await rows("outcomes", of: "player-2", in: database).first?["reason"]?.string == "account_not_found")
        _ = try await HoldStore(pool: database.pool).reject(HoldFilter(), by: "ann", at: Sample.noon)
        #expect(try await rows("refusals", of: "2000", in: database).count == 1)
        #expect(try await rows("hold_decisions", of: "sub", in: database).map { $0["operator"]?.string } == ["ann"])
        let all = try await Inspection.of("player-1", days: 100_000, limit: 50, in: database.pool)
        #expect(!"\(all)".contains("MIIB") && "\(all)".contains("+00:00"))
        for id in ["nobody", "'; DROP TABLE grants; --", "nul\0"] {
            #expect(
                try await Inspection.of(id, days: 2, limit: 5, in: database.pool).sections.allSatisfy(\.rows.isEmpty))
        }
        await ledger.close()
    }
}
