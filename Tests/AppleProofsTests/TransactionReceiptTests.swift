import Encodings
import Fulfillment
import NamesAndTimes
import Testing

@testable import AppleProofs

@Suite("The signature and the content of an iOS 6 transaction receipt")
struct TransactionReceiptTests {
    /// Makes a reader that has the issuer's certificate, as receiptd has Apple's. The receipt does not contain it.
    private func reader(_ authority: TestAuthority) -> ProofReader {
        ProofReader(roots: AppleRoots([authority.root, authority.intermediate].compactMap { TrustedCertificate($0) }))
    }

    private func authority() throws -> TestAuthority {
        try TestAuthority.receipts(.init(leafFrom: "2012-01-01T00:00:00Z", leafUntil: "2030-01-01T00:00:00Z"))
    }

    @Test(
        "the proof reader reads and proves a transaction receipt with any spacing of the property list",
        arguments: TestTransactionReceipt.Spacing.allCases)
    func spacings(spacing: TestTransactionReceipt.Spacing) throws {
        let authority = try authority()
        var made = TestTransactionReceipt(spacing: spacing)
        made.info["purchase-date-ms"] = "1430467200000"
        let receipt = try #require(reader(authority).readReceipt(try made.signed(by: authority)).receipt)
        #expect(receipt.style == .transactionReceipt)
        #expect(receipt.bundleID == "com.example.castle")
        #expect(receipt.appAppleID == 1_450_000_001)
        #expect(receipt.signature == .proven)
        let purchase = try #require(receipt.purchases.first)
        #expect(receipt.purchases.count == 1 && receipt.kinds == [nil])
        #expect(purchase.transactionID == "470000000000002")
        #expect(purchase.originalTransactionID == "470000000000001")
        #expect(purchase.productID == "com.example.castle.gems.100")
        #expect(purchase.quantity == 3)
        #expect(purchase.purchasedAt == Timestamp(milliseconds: 1_430_467_200_000))
        #expect(!receipt.holdsAutoRenewable)
    }

    @Test(
        "the environment of a transaction receipt is sandbox or unknown, because the environment member is not signed")
    func environment() throws {
        let authority = try authority()
        for (name, environment) in [("Sandbox", StoreEnvironment?.some(.sandbox)), (nil, nil), ("Production", nil)] {
            let bytes = try TestTransactionReceipt(environment: name).signed(by: authority)
            #expect(reader(authority).readReceipt(bytes).receipt?.environment == environment)
        }
    }

    @Test("if a transaction receipt has no date in milliseconds, the proof reader takes the date from the text field")
    func dates() throws {
        let authority = try authority()
        var made = TestTransactionReceipt()
        made.info["purchase-date-ms"] = nil
        made.info["expires-date"] = "1369987200000"
        let receipt = try #require(reader(authority).readReceipt(try made.signed(by: authority)).receipt)
        #expect(receipt.purchases.first?.purchasedAt == Timestamp(rfc3339: "2013-05-01T08:00:00Z"))
        #expect(receipt.purchases.first?.expiresAt == Timestamp(milliseconds: 1_369_987_200_000))
        #expect(receipt.holdsAutoRenewable)
    }

    @Test(
        "a transaction receipt keeps its original purchase time only for a restored purchase, if the time is readable",
        arguments: [
            ("original-purchase-date-ms", "1338537600000", 1_338_537_600_000),
            ("original-purchase-date", "2012-06-01 08:00:00 Etc/GMT", 1_338_537_600_000),
            ("original-purchase-date", "soon", nil), ("original-purchase-date-ms", "", nil),
        ] as [(String, String, Int64?)])
    func restoredCopy(name: String, value: String, milliseconds: Int64?) throws {
        let authority = try authority()
        var made = TestTransactionReceipt()
        made.info["original-purchase-date"] = nil
        made.info[name] = value
        func told() throws -> TransactionReceipt { try TransactionReceipt(try made.signed(by: authority)) }
        #expect(try told().purchase.originalPurchasedAt == milliseconds.map(Timestamp.init(milliseconds:)))
        #expect(try !told().hasUnreadableFields)
        made.info["original-transaction-id"] = made.info["transaction-id"]
        #expect(try told().purchase.originalPurchasedAt == nil)
    }

    @Test("a transaction receipt with a wrong signature, certificate, issuer or date is not provable, and never forged")
    func notProvable() throws {
        let authority = try authority()
        var genuine = TestTransactionReceipt()
        genuine.info["purchase-date-ms"] = "1430467200000"
        let doubt = LocalSignature.notProvable(.transactionSignature)
        var another = TestTransactionReceipt(version: 2)
        another.info = genuine.info
        var later = genuine
        later.info["purchase-date-ms"] = "1893456001000"
        let signedInfo = genuine.write([("a", "b")])
        let info = genuine.write(genuine.info.map { ($0.key, $0.value) })
        let blob = try genuine.blob(over: info, authority)
        let cases: [(String, [UInt8])] = [
            ("another version", try another.signed(by: authority)),
            ("an expired certificate", try later.signed(by: authority)),
            ("another content", genuine.text(info: info, signature: try genuine.blob(over: signedInfo, authority))),
            ("no certificate", genuine.text(info: info, signature: Array(blob[..<261]))),
            ("half a certificate", genuine.text(info: info, signature: blob.dropLast())),
            ("no signature's layout", genuine.text(info: info, signature: [UInt8](repeating: 0x5A, count: 256))),
            ("a single octet", genuine.text(info: info, signature: [3])),
        ]
        for (name, bytes) in cases { #expect(reader(authority).readReceipt(bytes).signature == doubt, "\(name)") }
        let bytes = try genuine.signed(by: authority)
        #expect(reader(authority).readReceipt(bytes).signature == .proven)
        #expect(authority.reader.readReceipt(bytes).signature == doubt, "without its issuer")
        #expect(ProofReader(roots: .builtIn).readReceipt(bytes).signature == doubt, "under other roots")
    }

    @Test("a text that is no property list of a receipt, or names no purchase, is malformed")
    func malformed() throws {
        let reader = ProofReader(roots: .builtIn)
        let info = Base64.encode(Array("{}".utf8))
        let cases = [
            "", "com.urus.iap.96657290", "{", "{}", "{ \"a\" }", "{ \"a\" = ; }", "{ \"a\" = \"b\"",
            "{ a = b; a = c; }",
            "{ \"signature\" = \"AAAA\"; }", "{ \"purchase-info\" = \"!\"; \"signature\" = \"AAAA\"; }",
            "{ \"purchase-info\" = \"\(info)\"; \"signature\" = \"AAAA\"; }", "{ \"purchase-info\" = \"\(info)\"; }",
            "{ a = b; } c", "{ \"a\\u0041\" = b; }", "{\"receipt\": 1}",
        ]
        for text in cases {
            guard case .malformed = reader.readReceipt(Array(text.utf8)) else {
                Issue.record("was read: \(text)")
                continue
            }
        }
        for (name, value) in [
            ("transaction-id", nil), ("product-id", nil), ("transaction-id", ""), ("transaction-id", "x"),
            ("product-id", ""),
        ] as [(String, String?)] {
            var made = TestTransactionReceipt()
            made.info[name] = value
            let reading = reader.readReceipt(try made.signed(by: try authority()))
            #expect(reading == .malformed("the receipt names no purchase"), "\(name)")
        }
    }

    @Test(
        "a transaction receipt with an unreadable field is incomplete",
        arguments: [
            ("cancellation-date", "yesterday"), ("cancellation-date-ms", "soon"), ("expires-date", "soon"),
            ("app-item-id", "x"), ("quantity", "0"), ("quantity", "4294967297"), ("quantity", "three"),
            ("quantity", ""),
        ])
    func unreadable(name: String, value: String) throws {
        let authority = try authority()
        var made = TestTransactionReceipt(environment: "Sandbox")
        made.info["purchase-date-ms"] = "1430467200000"
        let plain = reader(authority).parse(receipt: try made.signed(by: authority))
        guard case .read(let content?, .proven, _) = plain, content.asReceipt != nil else {
            Issue.record("the plain one is not complete")
            return
        }
        made.info[name] = value
        guard case .read(let bent?, .proven, _) = reader(authority).parse(receipt: try made.signed(by: authority))
        else {
            Issue.record("it was not read")
            return
        }
        #expect(bent.asReceipt == nil)
    }

    @Test("the proof reader lists a transaction receipt's unreadable quantity, and still reads the id and the product")
    func unreadableQuantity() throws {
        let authority = try authority()
        var made = TestTransactionReceipt()
        made.info["purchase-date-ms"] = "1430467200000"
        made.info["quantity"] = "0"
        let receipt = try #require(reader(authority).readReceipt(try made.signed(by: authority)).receipt)
        let purchase = try #require(receipt.purchases.first)
        #expect(purchase.transactionID == "470000000000002" && purchase.productID == "com.example.castle.gems.100")
        #expect(purchase.unreadable == ["quantity"] && !purchase.hasUnreadablePurchaseTime)
        #expect(receipt.creationDate == Timestamp(milliseconds: 1_430_467_200_000))
    }

    @Test(
        "a transaction receipt without a readable purchase date is not provable and is incomplete",
        arguments: [nil, "", "soon", "2013-05-01 08:00:00 Etc/Mars"] as [String?])
    func unreadablePurchaseDate(text: String?) throws {
        let authority = try authority()
        var made = TestTransactionReceipt(environment: "Sandbox")
        made.info["purchase-date-ms"] = text == nil ? nil : "soon"
        made.info["purchase-date"] = text
        let bytes = try made.signed(by: authority)
        let receipt = try #require(reader(authority).readReceipt(bytes).receipt)
        #expect(receipt.creationDate == nil && receipt.signature == .notProvable(.transactionSignature))
        #expect(receipt.purchases.map(\.transactionID) == ["470000000000002"])
        #expect(receipt.purchases.first?.hasUnreadablePurchaseTime == true)
        guard case .read(let content?, .notProvable, nil) = reader(authority).parse(receipt: bytes) else {
            Issue.record("it was not read, or is provable")
            return
        }
        #expect(!content.isComplete && content.signedAt == nil && content.asReceipt == nil)
        let examined = reader(authority).examine(Array(Base64.encode(bytes).utf8))
        #expect(examined.kind == .ios6Receipt && examined.signedAt == nil && examined.isSound)
    }
}
