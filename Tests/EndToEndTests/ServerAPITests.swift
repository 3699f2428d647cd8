import AppStoreSimulation
import Crypto
import Foundation
import Fulfillment
import Kafka
import Postgres
import TestSupport
import Testing

@testable import Demo

extension EndToEnd {
    @Suite("The App Store Server API, end to end")
    struct ServerAPITests {
        private static let app = "com.example.castle.server"
        private static let token = "3c9e6679-7425-40de-944b-e07fc1f90ae7"

        /// Registers the signed transaction `id` at the simulated Apple.
        private func register(_ id: String, at apple: AppStoreSimulation) throws {
            let claims = """
                {"transactionId":"\(id)","originalTransactionId":"\(id)","bundleId":"\(Self.app)",\
                "productId":"\(Receipts.gems)","purchaseDate":\(Receipts.purchasedAt),"quantity":1,"type":"Consumable",\
                "signedDate":\(Receipts.purchasedAt + 5000),"environment":"Production","appAccountToken":"\(Self.token)"}
                """
            let text = try Receipts.signer.get().signedTransaction(claims: claims)
            apple.register(SimulatedTransaction(transactionID: id, signedTransactionInfo: text))
        }

        /// Submits a transaction id. The ids of the submission and of the player contain the transaction id.
        private func submit(_ id: String, to bed: Testbed) async throws {
            let value = """
                {"submission_id":"s-\(id)","player_id":"p-\(id)","bundle_id":"\(Self.app)","transaction_id":"\(id)",\
                "app_account_token":"\(Self.token)"}
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

        private func parked(_ id: String, _ reason: String, in bed: Testbed) async throws -> Bool {
            let sql = """
                SELECT count(*) FROM parked
                WHERE submission_id = 's-\(id)' AND reason = '\(reason)' AND leased_until IS NULL
                """
            return try await bed.query(sql) { $0.int8(0, 0) } == 1
        }

        private func retry(_ id: String, in bed: Testbed) async throws {
            let ending = try await Program.run(["parked", "retry", "s-\(id)"], environment: bed.environment())
            #expect(ending.code == 0, "\(ending)")
        }

        @Test(
            "if Apple does not know a transaction, workers reject it at the eighth try, or grant it once Apple knows it",
            .takesLong)
        func unknown() async throws {
            try await Testbed.run { bed in
                let worker = try bed.startWorker()
                for id in ["8801", "8802"] { try await submit(id, to: bed) }
                for id in ["8801", "8802"] {
                    try await eventually("\(id) is parked") { try await parked(id, "doubt", in: bed) }
                }
                try await worker.kill()
                try bed.startWorker()
                try register("8802", at: bed.apple)
                try await retry("8802", in: bed)
                try await eventually("what appeared is granted") { answers("8802", in: bed) == ["receipt.granted"] }
                for asked in 2..<Judge.triesForUnknownTransaction {
                    try await retry("8801", in: bed)
                    try await eventually("it is asked for in both environments") {
                        bed.apple.requests(transactionID: "8801") == 2 * asked
                    }
                    try await eventually("it is parked again") { try await parked("8801", "doubt", in: bed) }
                    #expect(answers("8801", in: bed).isEmpty)
                }
                try await retry("8801", in: bed)
                let notFound = ["receipt.rejected transaction_not_found"]
                try await eventually("it is not found") { answers("8801", in: bed) == notFound }
                #expect(bed.apple.requests(transactionID: "8801") == 2 * Judge.triesForUnknownTransaction)
                #expect(try await bed.query("SELECT count(*) FROM parked") { $0.int8(0, 0) } == 0)
            }
        }

        @Test(
            "if Apple refuses an app's API key, the app's submissions stay parked until the setting has the right key"
        )
        func wrongKey() async throws {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("key-\(UUID().uuidString).p8")
            defer { try? FileManager.default.removeItem(at: file) }
            try P256.Signing.PrivateKey().pemRepresentation.write(to: file, atomically: true, encoding: .utf8)
            try await Testbed.run(settings: ["SEEDS_SERVER_API_KEY_FILE": file.path]) { bed in
                let worker = try bed.startWorker()
                for id in ["8811", "8812"] {
                    try register(id, at: bed.apple)
                    try await submit(id, to: bed)
                }
                for id in ["8811", "8812"] {
                    try await eventually("\(id) is parked") { try await parked(id, "blocked_server_api", in: bed) }
                }
                let gauge = "receiptd_misconfigured{bundle_id=\"\(Self.app)\"}"
                #expect(try await worker.scrape()[gauge] == 1)
                let told = try await worker.get("/readyz").body
                #expect(
                    told.contains(Self.app) && told.contains("Apple refuses the key in SEEDS_SERVER_API_KEY")
                        && told.contains("(401): compare issuer_id, key_id and key with App Store Connect"), "\(told)")
                let check = try await Program.run(["check"], environment: bed.environment())
                #expect(check.code == 78 && check.output.contains("the key in SEEDS_SERVER_API_KEY with"), "\(check)")
                let right = Seeds.signing.appendingPathComponent("server-api-key.pem")
                try String(contentsOf: right, encoding: .utf8).write(to: file, atomically: true, encoding: .utf8)
                // The command makes one submission due. Apple's answer about this submission makes the other due. The
                // test repeats the command, because at first the app may still count as blocked.
                try await eventually("both are granted") {
                    // The command may fail, because a worker may already have answered the submission.
                    _ = try await Program.run(["parked", "retry", "s-8811"], environment: bed.environment())
                    return ["8811", "8812"].allSatisfy { answers($0, in: bed) == ["receipt.granted"] }
                }
                try await eventually("the app counts as mended") { try await worker.scrape()[gauge] == 0 }
            }
        }
    }
}
