import AppStoreSimulation
import Fulfillment
import Testing

@testable import receiptd

/// Whole workers on real parts. One at a time: each keeps the machine busy.
@Suite("Ending holds, end to end", .serialized)
struct HoldTests {
    private static let unknown = "com.example.castle.comet.1"

    private func isHeld(_ transaction: String, in bed: ParkingBed) async throws -> Bool {
        try await bed.number("SELECT count(*) FROM holds WHERE transaction_id = '\(transaction)'") == 1
    }

    @Test("an operator's release outlives the worker and is granted, a refusal is published and remembered")
    func operatorsWord() async throws {
        try await ParkingBed.run { bed in
            let worker = try bed.startWorker()
            for number in 1...3 {
                try await bed.submit("p-\(number)", ParkingBed.receipt("810\(number)", product: Self.unknown))
                try await bed.until("\(number) is held") {
                    bed.answers("p-\(number)") == ["receipt.held unknown_product"]
                }
            }
            let listed = try await bed.holds("list", "--json")
            #expect(listed.code == 0 && listed.output.contains(#""total":3"#), "\(listed)")
            #expect(listed.output.contains("8101") && !listed.output.contains("receipt_data"), "\(listed)")
            #expect(try await bed.holds("list").output.contains("unknown_product"))

            await bed.kill(worker)
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
            let again = try await bed.holds("reject", "8102")
            #expect(again.code == 1 && again.errors.contains("is not held"), "\(again)")
            #expect(try await bed.holds("release").code == 64)
            #expect(try await bed.holds("reject", "8103", "--all").code == 64)
            #expect(try await bed.holds("release", "--all", "--reason", "nonsense").code == 64)
            let many = try await bed.holds(
                "release", "--all", "--bundle", ParkingBed.castle, "--reason", "unknown_product")
            #expect(many.code == 0 && many.output.hasPrefix("1 released"), "\(many)")
            try await bed.until("the last is granted") { bed.answers("p-3").contains("receipt.granted") }
            try await bed.until("none is left") { try await bed.number("SELECT count(*) FROM holds") == 0 }
            #expect(try await bed.number("SELECT count(*) FROM hold_decisions WHERE operator = 'ann'") == 1)
            #expect(try await bed.number("SELECT count(*) FROM hold_decisions") == 3)
        }
    }

    @Test("a new catalog grants what it knows, and asks nothing for what stays")
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
}
