import Foundation
import Fulfillment
import Testing

@testable import AppleProofs

@Suite("The receipts of the seeds")
struct SeedCaseTests {
    private static func receipts() throws -> [(name: String, bytes: [UInt8])] {
        let folder = Seeds.folder.appending(path: "cases")
        var receipts: [(String, [UInt8])] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() {
            for line in try Seeds.text("cases/\(name)/submissions.jsonl").split(separator: "\n") {
                guard let document = try? JSONParser.parse(Array(line.utf8)),
                    let submission = document.value["$record"]?["submission"] ?? Optional(document.value),
                    let text = submission["receipt_data"]?.string, let bytes = Base64.decode(text.utf8)
                else { continue }
                receipts.append((name, bytes))
            }
        }
        return receipts
    }

    @Test("all PKCS #7 receipts are proven under the seeds' root, but for those named forged")
    func areProven() throws {
        let reader = ProofReader(roots: try AppleRoots(pem: Seeds.text("signing/root.pem")))
        var proven = 0
        for (name, bytes) in try Self.receipts() {
            guard let receipt = reader.readReceipt(bytes).receipt else {
                #expect(name.contains("junk") || bytes.first != BERTag.sequence, "\(name) is malformed")
                continue
            }
            switch receipt.style {
            case .transactionReceipt:
                #expect(receipt.signature == .notProvable(.transactionSignature), "\(name)")
            case .appReceipt where name.contains("forged"):
                #expect(receipt.signature == .forged(.signerCertificateMissing), "\(name)")
            case .appReceipt:
                #expect(receipt.signature == .proven, "\(name)")
                #expect(receipt.unreadablePurchases == 0, "\(name)")
                proven += 1
            }
        }
        #expect(proven >= 50)
    }

    @Test("to a worker with Apple's own roots none of them is proven")
    func areForgeriesElsewhere() throws {
        let reader = ProofReader(roots: .builtIn)
        for (name, bytes) in try Self.receipts() {
            #expect(reader.readReceipt(bytes).signature != .proven, "\(name)")
        }
    }
}
