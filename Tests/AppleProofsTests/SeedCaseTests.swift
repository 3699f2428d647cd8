import Encodings
import Foundation
import Fulfillment
import Testing

@testable import AppleProofs

@Suite("The receipts of the seed cases")
struct SeedCaseTests {
    private struct Receipt {
        let name: String
        let bytes: [UInt8]
        /// Whether the seed's case calls the receipt forged.
        let isForged: Bool
    }

    private static func receipts() throws -> [Receipt] {
        let folder = Seeds.folder.appending(path: "cases")
        var receipts: [Receipt] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() {
            let expected = try JSONParser.parse(Array(Seeds.text("cases/\(name)/expected.json").utf8)).value
            let answers = expected["answers"]?.array ?? []
            let lines = try Seeds.text("cases/\(name)/submissions.jsonl").split(separator: "\n")
            for (round, line) in lines.enumerated() {
                guard let document = try? JSONParser.parse(Array(line.utf8)),
                    let submission = document.value["$record"]?["submission"] ?? Optional(document.value),
                    let text = submission["receipt_data"]?.string, let bytes = Base64.decode(text.utf8)
                else { continue }
                let reason = round < answers.count ? answers[round].array?.first?["reason"]?.string : nil
                let isForged = reason == "unauthentic_receipt" || name.hasPrefix("forged")
                receipts.append(Receipt(name: name, bytes: bytes, isForged: isForged))
            }
        }
        return receipts
    }

    @Test(
        "every PKCS #7 receipt of the seed cases is proven under the seeds' root, except the receipts of forgery cases")
    func areProven() throws {
        let reader = ProofReader(roots: try AppleRoots(pem: Seeds.text("signing/root.pem")))
        var proven = 0
        for seed in try Self.receipts() {
            let (name, bytes) = (seed.name, seed.bytes)
            guard let receipt = reader.readReceipt(bytes).receipt else {
                #expect(name.contains("junk") || bytes.first != BERTag.sequence, "\(name) is malformed")
                continue
            }
            switch receipt.style {
            case .transactionReceipt:
                #expect(receipt.signature == .notProvable(.transactionSignature), "\(name)")
            case .appReceipt where seed.isForged:
                guard case .forged = receipt.signature else {
                    Issue.record("\(name) is not known to be forged")
                    continue
                }
            case .appReceipt:
                #expect(receipt.signature == .proven, "\(name)")
                #expect(receipt.unreadablePurchases == 0, "\(name)")
                proven += 1
            }
        }
        #expect(proven >= 50)
    }

    @Test("under Apple's own roots, no receipt of the seed cases is proven")
    func areForgeriesElsewhere() throws {
        let reader = ProofReader(roots: .builtIn)
        for seed in try Self.receipts() {
            #expect(reader.readReceipt(seed.bytes).signature != .proven, "\(seed.name)")
        }
    }
}
