import AppStoreSimulation
import Encodings
import Foundation
import Fulfillment
import TestSupport
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

    @Test("the worker repairs a carelessly encoded proof and names the repair in the event; `receiptd proof` agrees")
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

    @Test("if an iOS 6 receipt has an unreadable quantity or time, the worker asks Apple, as `receiptd proof` reports")
    func unreadableTransactionReceipts() async throws {
        let unread = [
            "480000000000021": try unreadable("480000000000021", [(#""quantity" = "1""#, #""quantity" = "one""#)]),
            "480000000000023": try unreadable(
                "480000000000023", [(#""purchase-date-ms""#, #""purchase-date-s""#), ("Etc/GMT", "Etc/Mars")]),
        ]
        try await Testbed.run(settings: ["LOCAL_REFUSAL_CHECKS_PER_MINUTE": "0"]) { bed in
            try bed.startWorker()
            try await bed.submit(unread.map { record(of: $0, $1) })
            try await bed.outcomes.until("both are answered") { $0.events.count >= unread.count }
            let events = bed.outcomes.content.events
            for (transaction, receipt) in unread {
                let event = try #require(events.first { $0.json["submission_id"]?.string == "s-\(transaction)" })
                #expect(event.type == "receipt.granted")
                #expect(event.json["transaction_id"]?.string == transaction)
                #expect(event.json["quantity"] == .number("1"))
                #expect(event.json["purchased_at"]?.string == "2026-05-01T10:00:00.000Z")
                #expect(bed.apple.requests(receiptData: receipt) == 1)
            }
        }
        try await expectReport([
            (unread["480000000000021"], "asks_apple", ["quantity"]),
            (unread["480000000000023"], "asks_apple", ["purchase_date_ms"]),
        ])
    }

    /// Returns the transaction's iOS 6 receipt, with the changes made in the property list of the purchase.
    private func unreadable(_ transaction: String, _ changes: [(String, String)]) throws -> String {
        let receipt = try #require(Base64.decode(Receipts.single(transaction).utf8))
        let outer = String(decoding: receipt, as: UTF8.self)
        let tail = outer.components(separatedBy: #""purchase-info" = ""#).last
        let encoded = try #require(tail?.split(separator: "\"").first)
        let info = String(decoding: try #require(Base64.decode(encoded.utf8)), as: UTF8.self)
        let changed = changes.reduce(info) { $0.replacing($1.0, with: $1.1) }
        #expect(changed != info)
        return Base64.encode(Array(outer.replacing(encoded, with: Base64.encode(Array(changed.utf8))).utf8))
    }

    private func expectReport(_ cases: [(receipt: String?, outcome: String, unreadable: [String])]) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("proofs-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (receipt, outcome, unreadable) in cases {
            let file = folder.appendingPathComponent("proof").path
            try #require(receipt).write(toFile: file, atomically: true, encoding: .utf8)
            let catalog = Seeds.directory.appendingPathComponent("catalog.yaml").path
            let ending = try await Program.run(
                ["proof", file, "--json", "--catalog", catalog, "--bundle", Receipts.castle])
            #expect(ending.code == 0, "\(ending)")
            let json = try JSONParser.parse(Array(ending.output.utf8)).value
            #expect(json["kind"]?.string == "ios6_receipt" && json["signature"]?.string == "not_proven")
            #expect(json["verdict"]?["outcome"]?.string == outcome)
            let purchase = json["transactions"]?.array?.first
            #expect(purchase?["unreadable"]?.array?.compactMap(\.string) == unreadable, "\(ending)")
            #expect((purchase?["quantity"] == nil) == unreadable.contains("quantity"))
            #expect((purchase?["purchased_at"] == nil) == unreadable.contains("purchase_date_ms"))
        }
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
