import AppStoreSimulation
import Foundation
import Postgres
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Suite("Local rejections that workers check with Apple, end to end")
    struct LocalRefusalTests {
        /// Returns a receipt without a signature. The worker rejects the receipt as forged, but the simulated App Store
        /// answers that the receipt is genuine.
        private static func forged(_ transaction: String) -> String {
            SimulatedReceipt(
                bundleID: Receipts.castle, appAppleID: Receipts.castleAppleID,
                creationDateMilliseconds: Receipts.purchasedAt,
                purchases: [
                    SimulatedPurchase(
                        transactionID: transaction, productID: Receipts.gems,
                        purchaseDateMilliseconds: Receipts.purchasedAt)
                ]
            ).base64Encoded()
        }

        private func submit(_ id: String, _ receipt: String, to bed: Testbed) async throws {
            let value = """
                {"submission_id":"s-\(id)","player_id":"p-\(id)","bundle_id":"\(Receipts.castle)",\
                "receipt_data":"\(receipt)"}
                """
            try await bed.submit([
                PlannedRecord(
                    key: Array("p-\(id)".utf8), value: Array(value.utf8), submissionID: "s-\(id)", playerID: "p-\(id)")
            ])
        }

        private func answers(_ id: String, in bed: Testbed) -> [String] {
            var seen: Set<String> = []
            return bed.outcomes.events(of: "s-\(id)").filter { seen.insert($0.id).inserted }
                .map { $0.type + ($0.reason.map { " " + $0 } ?? "") }
        }

        @Test(
            "if Apple calls a locally rejected receipt genuine, the worker grants it to the first submitter only")
        func disputed() async throws {
            try await Testbed.run(settings: ["LOCAL_REFUSAL_CHECKS_PER_MINUTE": "6000"]) { bed in
                let worker = try bed.startWorker()
                try await submit("8901", Self.forged("8901"), to: bed)
                let both = ["receipt.rejected unauthentic_receipt", "receipt.granted"]
                try await eventually("it is refused and then granted") { answers("8901", in: bed) == both }
                let counter = #"receiptd_local_refusals_disputed_total{reason="unauthentic_receipt"}"#
                #expect(try await worker.scrape()[counter] == 1)
                try await eventually("nothing is owed") {
                    try await bed.query("SELECT count(*) FROM outbox") { $0.int8(0, 0) } == 0
                }
                // Another player submits the first receipt. The worker checks the receipt with Apple, but publishes
                // only the rejection.
                let value = Self.forged("8901")
                try await submit("8902", value, to: bed)
                try await eventually("the other one is refused and checked") {
                    bed.apple.requests(receiptData: value) >= 2
                }
                try await submit("8903", Self.forged("8903"), to: bed)
                try await eventually("a third one is granted") { answers("8903", in: bed) == both }
                #expect(answers("8902", in: bed) == ["receipt.rejected unauthentic_receipt"])
                let grants = "SELECT count(*) FROM grants WHERE transaction_id IN ('8901', '8903')"
                #expect(try await bed.query(grants) { $0.int8(0, 0) } == 2)
                #expect(answers("8901", in: bed) == both)
            }
        }
    }
}
