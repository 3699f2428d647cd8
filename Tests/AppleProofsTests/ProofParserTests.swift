import Encodings
import Fulfillment
import NamesAndTimes
import Testing

@testable import AppleProofs

@Suite("The content of a parsed proof")
struct ProofParserTests {
    private let receipts: TestAuthority
    private let transactions: TestAuthority

    init() throws {
        receipts = try TestAuthority.receipts()
        transactions = try TestAuthority.transactions()
    }

    private func parse(_ receipt: TestReceipt, certificates: [[UInt8]]? = nil) throws -> ProofReading {
        receipts.reader.parse(receipt: try receipt.signed(by: receipts, certificates: certificates))
    }

    private func parse(_ transaction: TestTransaction) throws -> ProofReading {
        transactions.reader.parse(signedTransaction: try transaction.signed(by: transactions))
    }

    @Test("the proof parser reads all fields of a proven app receipt")
    func appReceipt() throws {
        var receipt = TestReceipt()
        receipt.purchases = [
            .init(), .init(transactionID: "470000000000002", kind: 3, expiryDate: "2024-06-01T08:00:00Z"),
        ]
        guard case .read(let content?, .proven, _) = try parse(receipt) else {
            Issue.record("it is not proven")
            return
        }
        #expect(content.bundleID == "com.example.castle")
        #expect(content.appAppleID == 1_450_000_001)
        #expect(content.environment == .production)
        #expect(content.purchases.map(\.transactionID) == ["470000000000001", "470000000000002"])
        #expect(content.isComplete && content.holdsAutoRenewable)
        #expect(content.signedAt == Timestamp(rfc3339: "2024-05-01T08:00:05Z"))
    }

    @Test("a receipt with an unreadable purchase, or with two purchases of the same transaction id, is incomplete")
    func incomplete() throws {
        for purchases: [TestReceipt.Purchase] in [[.init(), .init(quantity: 0)], [.init(), .init(quantity: 2)]] {
            guard case .read(let content?, .proven, _) = try parse(TestReceipt(purchases: purchases)) else {
                Issue.record("it is not proven")
                continue
            }
            #expect(!content.isComplete)
        }
    }

    @Test("a cancelled subscription period makes a receipt insufficient evidence; other cancelled purchases do not")
    func cancelledPeriod() throws {
        let (end, cancelled) = ("2024-06-01T08:00:00Z", "2024-05-01T08:00:03Z")
        let table: [(purchase: TestReceipt.Purchase, isEnough: Bool)] = [
            (.init(kind: 3, expiryDate: end, cancellationDate: cancelled), false),
            (.init(kind: 9, expiryDate: end, cancellationDate: cancelled), false),
            (.init(kind: 4, expiryDate: end, cancellationDate: cancelled), false),
            (.init(kind: 4, cancellationDate: cancelled), true),
            (.init(kind: 3, cancellationDate: cancelled), false), (.init(kind: 3, expiryDate: end), true),
            (.init(kind: 0, cancellationDate: cancelled), true), (.init(kind: 2, cancellationDate: cancelled), true),
        ]
        var app = AppPolicy(bundleID: "com.example.castle")
        app.verification = .local
        for (purchase, isEnough) in table {
            guard case .read(let content?, .proven, _) = try parse(TestReceipt(purchases: [purchase])) else {
                Issue.record("it is not proven")
                continue
            }
            let proof = ParsedProof(
                digest: Digest256(hashing: [1]), material: .receipt("MIIB"), signature: .proven, content: content)
            let evidence = proof.sufficientEvidence(for: app, now: Timestamp(milliseconds: 1_714_550_405_000))
            #expect(evidence?.purchases == (isEnough ? content.purchases : nil), "\(purchase)")
            let isCancelled = content.purchases.first?.cancelledAt != nil
            #expect(isCancelled == !purchase.cancellationDate.isEmpty)
        }
    }

    @Test("the proof parser reads the bundle id of a forged receipt, and calls bytes that are no receipt unreadable")
    func forged() throws {
        let receipt = TestReceipt(bundleID: "com.example.other")
        guard case .read(let content?, .forged, _) = try parse(receipt, certificates: []) else {
            Issue.record("it is not forged")
            return
        }
        #expect(content.bundleID == "com.example.other")
        #expect(receipts.reader.parse(receipt: [0x30, 0x00]).unreadableCode == "not_a_receipt")
        #expect(receipts.reader.parse(receipt: Array("com.urus.iap.96657290".utf8)).unreadableCode == "not_a_receipt")
    }

    @Test("if the caller needs no signature check, the proof parser reads the receipt as not provable")
    func unprovenWhereOfNoUse() throws {
        let bytes = try TestReceipt().signed(by: receipts)
        guard case .read(let content, .proven, _) = receipts.reader.parse(receipt: bytes) else {
            Issue.record("it is not proven")
            return
        }
        var asked: [ProofContent] = []
        let reading = receipts.reader.parse(receipt: bytes) { told in
            asked.append(told)
            return false
        }
        #expect(reading == .read(content, .notProvable))
        #expect(asked == [content])
        #expect(receipts.reader.parse(receipt: [0x30, 0x00]) { _ in false }.unreadableCode == "not_a_receipt")
    }

    @Test("the proof parser reads a proven transaction's account token and date; other signed payloads are unreadable")
    func transaction() throws {
        guard case .read(let content?, .proven, _) = try parse(TestTransaction()) else {
            Issue.record("it is not proven")
            return
        }
        #expect(content.purchases.first?.appAccountToken == "7e3fb204-2ab2-4f36-a6e2-2f9f1b1d0a5c")
        #expect(content.isComplete && !content.holdsAutoRenewable)
        #expect(content.signedAt == Timestamp(milliseconds: 1_714_550_405_000))
        var notification = TestTransaction()
        notification.claims["transactionId"] = nil
        #expect(try parse(notification).unreadableCode == "jws_not_a_transaction")
        #expect(transactions.reader.parse(signedTransaction: "a.b.c").unreadableCode == "not_a_jws")
    }

    @Test("a JWS without a signature or chain is forged, even if its payload is no transaction")
    func unsigned() {
        func token(_ header: String, _ payload: String) -> String {
            [header, payload, ""].map { text in
                Base64.encode(Array(text.utf8)).replacing("=", with: "")
            }.joined(separator: ".")
        }
        let reader = transactions.reader
        #expect(reader.parse(signedTransaction: token(#"{"alg":"none"}"#, "{}")).forgeryCode == "signature_broken")
        #expect(reader.parse(signedTransaction: token(#"{"alg":"ES256"}"#, "{}")).forgeryCode == "chain_not_apples")
    }
}

extension ProofReading {
    fileprivate var unreadableCode: String? {
        if case .unreadable(let cause) = self { cause.code } else { nil }
    }

    fileprivate var forgeryCode: String? {
        if case .read(nil, .forged, let cause) = self { cause?.code } else { nil }
    }
}
