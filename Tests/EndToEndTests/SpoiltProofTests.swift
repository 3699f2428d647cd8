import AppStoreSimulation
import Encodings
import Foundation
import Fulfillment
import Testing

@testable import Demo

extension EndToEnd {
    private static let careless: [(transaction: String, code: String?, @Sendable (String) -> String)] = [
        ("480000000000002", nil, { "\"\($0)\"" }),
        (
            "480000000000004", "repaired_percent_encoding",
            { "\($0)".replacing("/", with: "%2F").replacing("+", with: "%2B") }
        ),
        ("480000000000006", "repaired_line_ends", { String($0.prefix(76)) + #"\r\n"# + String($0.dropFirst(76)) }),
        ("480000000000008", "repaired_base64_twice", { Base64.encode(Array($0.utf8)) }),
    ]

    @Test("a spoilt proof that can be repaired is granted, with the repair in its event; `proof` agrees offline")
    func spoiltProofs() async throws {
        let settings = ["LOCAL_REFUSAL_CHECKS_PER_MINUTE": "0", "NOTIFICATION_HISTORY_SECONDS": "0"]
        try await Testbed.run(settings: settings) { bed in
            try bed.startWorker()
            var records: [PlannedRecord] = []
            for (transaction, _, spoil) in Self.careless {
                records.append(record(of: transaction, spoil(Receipts.single(transaction))))
            }
            let envelope =
                #"{"Store":"AppleAppStore","TransactionID":"1","Payload":"\#(Receipts.single("480000000000012"))"}"#
            records.append(record(of: "480000000000012", envelope))
            records.append(record(of: "480000000000014", String(Receipts.single("480000000000014").prefix(100))))
            try await bed.submit(records)
            let count = records.count
            try await bed.outcomes.until("all are answered") { $0.events.count >= count }
            let content = bed.outcomes.content
            for (transaction, code, _) in Self.careless {
                let event = try #require(
                    content.events.first { $0.json["submission_id"]?.string == "s-\(transaction)" })
                #expect(event.json["transaction_id"]?.string == transaction)
                #expect(event.json["detail_code"]?.string == code)
            }
            for (transaction, code) in [("480000000000012", "envelope_mismatch"), ("480000000000014", "truncated")] {
                let event = try #require(
                    content.events.first { $0.json["submission_id"]?.string == "s-\(transaction)" })
                #expect(event.json["reason"]?.string == "malformed_receipt")
                #expect(event.json["detail_code"]?.string == code)
                #expect(event.json["detail"]?.string?.isEmpty == false)
            }
        }
        try await examined()
    }

    private func record(of transaction: String, _ proof: String) -> PlannedRecord {
        var json = JSONWriter()
        json.beginObject()
        json.member("submission_id", "s-\(transaction)")
        json.member("player_id", "p-\(transaction)")
        json.member("bundle_id", Receipts.castle)
        json.member("receipt_data", proof)
        json.endObject()
        return PlannedRecord(
            key: Array("p-\(transaction)".utf8), value: json.bytes, submissionID: "s-\(transaction)",
            playerID: "p-\(transaction)")
    }

    private func examined() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("proofs-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let receipt = Receipts.single("480000000000002")
        let roots = DemoRun.settings(signing: Seeds.signing)["APPLE_ROOT_CERTIFICATES_FILE"] ?? ""
        let mismatched = #"{"Store":"AppleAppStore","TransactionID":"1","Payload":"\#(receipt)"}"#
        for (text, code, kind, signature): (String, Int32, String, String?) in [
            (mismatched, 1, "receipt", "apple"), (mismatched.replacing("{", with: "%7B"), 1, "receipt", "apple"),
            (receipt, 0, "receipt", "apple"), (receipt.replacing("+", with: " "), 0, "receipt", "apple"),
            ("junk", 1, "unknown", nil),
        ] {
            let file = folder.appendingPathComponent("proof").path
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            let catalog = Seeds.directory.appendingPathComponent("catalog.yaml").path
            let ending = try await Program.run(
                ["proof", file, "--json", "--catalog", catalog, "--bundle", Receipts.castle],
                environment: ["APPLE_ROOT_CERTIFICATES_FILE": roots])
            #expect(ending.code == code, "\(ending)")
            let json = try JSONParser.parse(Array(ending.output.utf8)).value
            #expect(json["kind"]?.string == kind)
            #expect(json["signature"]?.string == signature)
            #expect(json["verdict"]?["outcome"]?.string == (code == 0 ? "granted" : "rejected"))
            #expect(!ending.output.contains(receipt))
        }
    }
}
