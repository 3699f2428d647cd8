import AppStoreSimulation
import TestSupport
import Testing

@testable import Demo

/// Runs whole workers, commands and the console, with PostgreSQL, a broker and the simulated Apple.
@Suite("Two players' holds of one purchase, end to end", .wholeSystem)
struct DisputedHoldTests {
    private static let app = "com.example.castle.server"
    private static let token = "3c9e6679-7425-40de-944b-e07fc1f90ae7"

    /// Makes two players' holds of one purchase, whose product is unknown. The first hold is of a thief, who lacks the
    /// purchase's token. The second hold is of the buyer.
    private func hold(_ id: String, in bed: ParkingBed) async throws {
        let claims = """
            {"transactionId":"\(id)","originalTransactionId":"\(id)","bundleId":"\(Self.app)",\
            "productId":"com.example.castle.comet.1","purchaseDate":\(Receipts.purchasedAt),"quantity":1,\
            "type":"Consumable","signedDate":\(Receipts.purchasedAt + 5000),"environment":"Production",\
            "appAccountToken":"\(Self.token)"}
            """
        let proof = try Receipts.signer.get().signedTransaction(claims: claims)
        bed.apple.register(SimulatedTransaction(transactionID: id, signedTransactionInfo: proof))
        for (player, token, reason) in [
            ("thief-\(id)", "", "unknown_product"),
            ("buyer-\(id)", #","app_account_token":"\#(Self.token)""#, "ownership_disputed"),
        ] {
            let value = """
                {"submission_id":"\(player)","player_id":"\(player)","bundle_id":"\(Self.app)",\
                "signed_transaction":"\(proof)"\(token)}
                """
            try await bed.publish(value, player: player)
            try await bed.until("\(player) waits") { bed.answers(player) == ["receipt.held \(reason)"] }
        }
    }

    private func held(in bed: ParkingBed) async throws -> [String] {
        try await bed.rows("SELECT transaction_id || ' ' || player_id || ' ' || reason FROM holds ORDER BY 1")
    }

    @Test("if two players have holds of one transaction, a command needs --player, and ends only that player's hold")
    func commands() async throws {
        try await ParkingBed.run { bed in
            _ = try bed.startWorker(DemoRun.settings(signing: Seeds.signing))
            try await hold("8701", in: bed)
            for order in ["release", "reject"] {
                let refused = try await bed.holds(order, "8701")
                #expect(refused.code == 64 && refused.output.isEmpty, "\(refused)")
                for word in ["2 players", "--player", "thief-8701", "buyer-8701"] {
                    #expect(refused.errors.contains(word), "\(refused)")
                }
                #expect(try await bed.holds(order, "8701", "--player", "nobody").code == 1)
            }
            #expect(try await held(in: bed).count == 2)
            let rejected = try await bed.holds("reject", "8701", "--player", "thief-8701")
            #expect(rejected.code == 0 && rejected.output.hasPrefix("1 rejected"), "\(rejected)")
            #expect(try await held(in: bed) == ["8701 buyer-8701 ownership_disputed"])
            // The product is still unknown, so the worker holds the released purchase again, for this reason.
            #expect(try await bed.holds("release", "8701").code == 0)
            try await bed.until("the dispute is over") {
                try await held(in: bed) == ["8701 buyer-8701 unknown_product"]
            }
            #expect(try await bed.holds("release", "8701").code == 0)
            try await bed.until("its buyer is granted it") {
                bed.answers("buyer-8701") == ["receipt.held ownership_disputed", "receipt.granted"]
            }
            try await bed.until("the thief is told") {
                bed.answers("thief-8701") == ["receipt.held unknown_product", "receipt.rejected refused_by_operator"]
            }
        }
    }

    @Test("if two players have holds of one transaction, the console rejects only the picked player's hold")
    func console() async throws {
        try await ParkingBed.run { bed in
            _ = try bed.startWorker(DemoRun.settings(signing: Seeds.signing))
            try await hold("8702", in: bed)
            let ann = try await ConsoleClient.signedIn(
                port: try await ConsoleTests.start(in: bed), "ann", "a right: password")
            #expect(try await ann.get("/held").body.contains("Select 8702 buyer-8702"))
            let page = try await ann.get("/confirm?change=reject-held&id=8702%20thief-8702").body
            #expect(page.contains("thief-8702") && !page.contains("buyer-8702"))
            let made = try await ann.confirm("/confirm?change=reject-held&picked=1&pick-0=8702%20thief-8702").body
            #expect(made.contains("1 rejected"))
            #expect(try await held(in: bed) == ["8702 buyer-8702 ownership_disputed"])
            // The row stays after the player's erasure, so it must not name the player.
            #expect(try await bed.rows("SELECT subject FROM console_changes") == ["8702"])
            for id in ["8702%20", "%20thief-8702", "8702%00x"] {
                #expect(try await ann.get("/confirm?change=release&id=\(id)").status == 400, "\(id)")
            }
        }
    }
}
