import Foundation
import Fulfillment
import TestSupport
import Testing

@testable import Demo

@Suite("Operators' revocations and erasures, end to end", .wholeSystem)
struct OperatorDecisionTests {
    private func expect(_ arguments: String..., in bed: ParkingBed, code: Int32 = 0) async throws -> String {
        let ending = try await bed.command(arguments)
        #expect(ending.code == code, "\(arguments): \(ending.errors)")
        return ending.output + ending.errors
    }

    @Test("after `grants revoke` workers reject later submissions; `grants reinstate` makes the grant valid again")
    func revoke() async throws {
        try await ParkingBed.run { bed in
            _ = try bed.startWorker()
            try await bed.submit("p-1", ParkingBed.receipt("8801"))
            try await bed.until("it is granted") { bed.answers("p-1") == ["receipt.granted"] }
            _ = try await expect("grants", "revoke", "8801", in: bed, code: 64)
            #expect(bed.answers("p-1") == ["receipt.granted"], "without --yes nothing is done")
            for _ in 0..<2 {
                _ = try await expect("grants", "revoke", "8801", "--yes", "--note", "chargeback", in: bed)
            }
            let revoked = ["receipt.granted", "receipt.revoked revoked_by_operator"]
            try await bed.until("it is revoked") { bed.answers("p-1") == revoked }
            try await bed.submit("again", ParkingBed.receipt("8801"), player: "p-1")
            let refused = revoked + ["receipt.rejected revoked_by_operator"]
            try await bed.until("it is refused") { bed.answers("p-1") == refused }
            _ = try await expect("grants", "reinstate", "8801", in: bed)
            try await bed.until("it is reinstated") { bed.answers("p-1") == refused + ["receipt.reinstated"] }
            let story = try await expect("inspect", "8801", in: bed)
            #expect(story.contains("chargeback"))
            #expect(try await expect("grants", "revoke", "8809", "--yes", in: bed, code: 1).contains("not granted"))
        }
    }

    @Test("`players erase` removes the player's ids from all tables, and no other player gets the player's purchase")
    func erase() async throws {
        try await ParkingBed.run { bed in
            let worker = try bed.startWorker()
            let token = "1a2b3c4d-0000-4000-8000-840000000001"
            try await bed.publish(
                #"{"submission_id":"s-1","player_id":"mallory-77","bundle_id":"com.example.castle","#
                    + #""app_account_token":"\#(token)","device_id":"device-77","#
                    + #""receipt_data":"\#(ParkingBed.receipt("8811"))"}"#, player: "mallory-77")
            try await bed.submit("s-2", ParkingBed.receipt("8812"), player: "p-2")
            try await bed.until("both are granted") {
                bed.answers("mallory-77") == ["receipt.granted"] && bed.answers("p-2") == ["receipt.granted"]
            }
            _ = try await expect("players", "erase", "mallory-77", "--dry-run", in: bed)
            // Without a terminal nobody can confirm, so the command changes nothing.
            let unasked = try await expect("players", "erase", "mallory-77", in: bed, code: 64)
            #expect(unasked.contains("--yes") && unasked.contains("nothing was done"))
            #expect(try await bed.number("SELECT count(*) FROM grants WHERE player_id = 'mallory-77'") == 1)
            let told = try await expect("players", "erase", "mallory-77", "--yes", in: bed)
            #expect(told.contains("pseudonym"))
            // No row of any table may name the player.
            let tables = try await bed.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
            #expect(tables.count > 20)
            for table in tables {
                let found = "SELECT count(*) FROM \(table) AS t WHERE t::text ~ 'mallory-77|device-77|\(token)'"
                #expect(try await bed.number(found) == 0, "\(table)")
            }
            #expect(try await bed.number("SELECT count(*) FROM grants WHERE transaction_id = '8811'") == 1)
            try await bed.submit("s-3", ParkingBed.receipt("8811"), player: "thief")
            try await bed.until("it is nobody else's") {
                bed.answers("thief") == ["receipt.rejected owned_by_other_player"]
            }
            #expect(worker.isRunning && bed.answers("p-2") == ["receipt.granted"])
        }
    }
}
