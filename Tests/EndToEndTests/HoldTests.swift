import AppStoreSimulation
import Encodings
import Foundation
import Fulfillment
import TestSupport
import Testing

@testable import Demo

@Suite("Ending holds, end to end", .wholeSystem)
struct HoldTests {
    private static let unknown = "com.example.castle.comet.1"

    private func isHeld(_ transaction: String, in bed: ParkingBed) async throws -> Bool {
        try await bed.number("SELECT count(*) FROM holds WHERE transaction_id = '\(transaction)'") == 1
    }

    @Test(
        "if a hold is released while no worker runs, the next worker grants the purchase; a hold's rejection is final")
    func operatorsDecisions() async throws {
        try await ParkingBed.run { bed in
            let worker = try bed.startWorker()
            for number in 1...3 {
                try await bed.submit("p-\(number)", ParkingBed.receipt("810\(number)", product: Self.unknown))
                try await bed.until("\(number) is held") {
                    bed.answers("p-\(number)") == ["receipt.held unknown_product"]
                }
            }
            try await expectList(in: bed)
            await bed.kill(worker)
            try await expectRelease(in: bed)
            try await expectRejection(in: bed)
            try await expectRefusedCommands(in: bed)
            try await expectReleaseOfMany(in: bed)
            try await expectInspection(in: bed)
            #expect(try await bed.number("SELECT count(*) FROM hold_decisions") == 3)
        }
    }

    private func expectList(in bed: ParkingBed) async throws {
        let listed = try await bed.holds("list", "--json")
        #expect(listed.code == 0 && listed.output.contains(#""total":3"#), "\(listed)")
        #expect(listed.output.contains("8101") && !listed.output.contains("receipt_data"), "\(listed)")
        #expect(try await bed.holds("list").output.contains("unknown_product"))
    }

    /// Releases the first hold while no worker runs. Then a new worker asks Apple again, and grants the purchase.
    private func expectRelease(in bed: ParkingBed) async throws {
        let released = try await bed.holds("release", "8101", "--operator", "ann")
        #expect(released.code == 0 && released.output.hasPrefix("1 released"), "\(released)")
        #expect(bed.answers("p-1") == ["receipt.held unknown_product"])
        let requests = bed.apple.requests(receiptData: ParkingBed.receipt("8101", product: Self.unknown))
        _ = try bed.startWorker()
        try await bed.until("it is granted") {
            bed.answers("p-1") == ["receipt.held unknown_product", "receipt.granted"]
        }
        #expect(
            bed.apple.requests(receiptData: ParkingBed.receipt("8101", product: Self.unknown)) > requests)
    }

    /// Rejects the second hold. Later submissions of the purchase must be rejected too.
    private func expectRejection(in bed: ParkingBed) async throws {
        let rejected = try await bed.holds("reject", "8102")
        #expect(rejected.code == 0 && rejected.output.hasPrefix("1 rejected"), "\(rejected)")
        try await bed.until("the refusal is published") {
            bed.answers("p-2") == ["receipt.held unknown_product", "receipt.rejected refused_by_operator"]
        }
        try await bed.submit("p-2", ParkingBed.receipt("8102", product: Self.unknown))
        try await bed.until("it is remembered") {
            bed.answers("p-2").suffix(1) == ["receipt.rejected refused_by_operator"]
                && bed.answers("p-2").count == 3
        }
    }

    private func expectRefusedCommands(in bed: ParkingBed) async throws {
        let again = try await bed.holds("reject", "8102")
        #expect(again.code == 1 && again.errors.contains("is not held"), "\(again)")
        #expect(try await bed.holds("release").code == 64)
        #expect(try await bed.holds("reject", "8103", "--all").code == 64)
        #expect(try await bed.holds("release", "--all", "--reason", "nonsense").code == 64)
        #expect(try await bed.holds("reject", "8103 ").code == 64)
        #expect(try await bed.holds("release", "8103", "--limit", "1").code == 64)
        #expect(try await bed.holds("release", "--all", "--limit", "0").code == 64)
        // There is no terminal for a confirmation, so a command without --yes rejects nothing.
        let unasked = try await bed.holds("reject", "--all")
        #expect(unasked.code == 64 && unasked.errors.contains("reject 1 held transactions"), "\(unasked)")
        for verb in ["reject", "release"] {
            let tried = try await bed.holds(verb, "--all", "--dry-run")
            #expect(tried.code == 0 && tried.output.hasPrefix("1 would be"), "\(tried)")
        }
    }

    /// Releases the third hold by its app and reason, without its id.
    private func expectReleaseOfMany(in bed: ParkingBed) async throws {
        #expect(try await isHeld("8103", in: bed))
        #expect(bed.answers("p-3") == ["receipt.held unknown_product"])
        let many = try await bed.holds(
            "release", "--all", "--bundle", ParkingBed.castle, "--reason", "unknown_product")
        #expect(many.code == 0 && many.output.hasPrefix("1 released"), "\(many)")
        try await bed.until("the last is granted") { bed.answers("p-3").contains("receipt.granted") }
        try await bed.until("none is left") { try await bed.number("SELECT count(*) FROM holds") == 0 }
        #expect(try await bed.number("SELECT count(*) FROM hold_decisions WHERE operator = 'ann'") == 1)
    }

    private func expectInspection(in bed: ParkingBed) async throws {
        let inspected = try await bed.command(["inspect", "8101", "--days", "1000"])
        #expect(inspected.code == 0 && inspected.output.contains("grants (1)"), "\(inspected)")
        #expect(inspected.output.contains("release") && inspected.output.contains("ann"), "\(inspected)")
        for told in [
            "receipt_data for \(ParkingBed.castle)", "verifyReceipt Production: genuine, status 0",
            "held: unknown_product; not refused for ownership_disputed", "published; transaction 8101",
        ] { #expect(inspected.output.contains(told), "\(told): \(inspected.output)") }
        let document = try await bed.command(["inspect", "p-2", "--json"])
        let json = try JSONParser.parse(Array(document.output.utf8.dropLast())).value
        #expect(json["refusals"]?.array?.count == 1 && json["grants"]?.array?.isEmpty == true, "\(document)")
        #expect(try await bed.command(["inspect", "nobody"]).output.hasPrefix("receiptd knows nothing of"))
    }

    @Test("a worker grants held purchases whose product is in a new catalog, keeps other holds, and does not ask Apple")
    func newCatalog() async throws {
        try await ParkingBed.run { bed in
            _ = try bed.startWorker()
            let stranger = ParkingBed.receipt("8202", product: "com.example.castle.comet.2")
            try await bed.submit("p-known", ParkingBed.receipt("8201", product: Self.unknown))
            try await bed.submit("p-stranger", stranger)
            for player in ["p-known", "p-stranger"] {
                try await bed.until("\(player) is held") { bed.answers(player) == ["receipt.held unknown_product"] }
            }
            let requests = bed.apple.requests(receiptData: stranger)
            let first = "      - product_id: com.example.castle.gems.1200\n"
            #expect(bed.document.contains(first))
            try await bed.importCatalog(
                bed.document.replacing(
                    first, with: "      - { product_id: \(Self.unknown), kind: consumable }\n" + first,
                    maxReplacements: 1))
            try await bed.until("it is granted") {
                bed.answers("p-known") == ["receipt.held unknown_product", "receipt.granted"]
            }
            try await bed.until("the other was looked at") {
                try await bed.number(
                    "SELECT count(*) FROM holds WHERE catalog_version = (SELECT max(version) FROM catalogs)") == 1
            }
            #expect(try await isHeld("8202", in: bed))
            #expect(bed.answers("p-stranger") == ["receipt.held unknown_product"])
            #expect(bed.apple.requests(receiptData: stranger) == requests)
        }
    }

    @Test("`grants import` ends the holds of the imported transactions as already_granted, and can be repeated")
    func importedGrants() async throws {
        try await ParkingBed.run { bed in
            _ = try bed.startWorker()
            let receipt = ParkingBed.receipt(
                "8301", bundle: ParkingBed.limits, product: "com.example.castle.limits.gems.100",
                boughtAt: 1_672_567_200_000)
            try await bed.submit("p-old", receipt, bundle: ParkingBed.limits)
            try await bed.until("it is held") { bed.answers("p-old") == ["receipt.held before_cutover"] }
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("grants-\(UUID().uuidString).csv")
            defer { try? FileManager.default.removeItem(at: file) }
            try """
            transaction_id,player_id,bundle_id,product_id,quantity,purchased_at,shop
            8301,p-old,\(ParkingBed.limits),com.example.castle.limits.gems.100,1,2023-01-01T10:00:00Z,7
            8302,p-old,\(ParkingBed.limits),com.example.castle.limits.gems.100,none,2023-01-01T10:00:00Z,7
            """.write(to: file, atomically: true, encoding: .utf8)
            let tried = try await bed.command(["grants", "import", "--dry-run", file.path])
            #expect(tried.code == 1 && tried.output.hasPrefix("1 would be entered; 0 were there before"), "\(tried)")
            #expect(try await bed.number("SELECT count(*) FROM grants") == 0)
            let entered = try await bed.command(["grants", "import", file.path])
            #expect(
                entered.code == 1 && entered.output.hasPrefix("1 entered; 0 were there before; 1 skipped"), "\(entered)"
            )
            #expect(entered.errors.contains("line 3: quantity") && entered.errors.contains("\"shop\""), "\(entered)")
            try await bed.until("the hold ends") {
                bed.answers("p-old") == ["receipt.held before_cutover", "receipt.rejected already_granted"]
            }
            let again = try await bed.command(["grants", "import", file.path])
            #expect(again.output.hasPrefix("0 entered; 1 were there before; 1 skipped"), "\(again)")
            #expect(try await bed.command(["grants", "import", "/nowhere"]).code == 1)
            #expect(try await bed.command(["grants", "import"]).code == 64)
            #expect(try await bed.number("SELECT count(*) FROM grants WHERE event IS NULL") == 1)
        }
    }

    @Test("`grants import` skips and names each line with an id that a spreadsheet mangled, and warns of unknown apps")
    func mangledGrants() async throws {
        try await ParkingBed.run { bed in
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("grants-\(UUID().uuidString).csv")
            defer { try? FileManager.default.removeItem(at: file) }
            let ids = ["470001 ", "470001.0", "4.7E+05", "'470001", "0470001"]
            let product = "com.example.castle.gems.100"
            let lines =
                ["transaction_id, player_id,bundle_id,product_id", "470002,p-new,com.example.other,gold"]
                + ids.map { "\"\($0)\",p-old,\(ParkingBed.castle),\(product)" }
                + ["470001, p-old,\(ParkingBed.castle),\(product)"]
            try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
            let entered = try await bed.command(["grants", "import", file.path])
            #expect(
                entered.code == 1 && entered.output.hasPrefix("1 entered; 0 were there before; 6 skipped"), "\(entered)"
            )
            for line in 3...7 { #expect(entered.errors.contains("line \(line): transaction_id "), "\(entered)") }
            #expect(entered.errors.contains("line 8: player_id "), "\(entered)")
            #expect(entered.errors.contains(#"no app "com.example.other": 1 rows from line 2"#), "\(entered)")
            #expect(try await bed.number("SELECT count(*) FROM grants") == 1)
        }
    }
}
