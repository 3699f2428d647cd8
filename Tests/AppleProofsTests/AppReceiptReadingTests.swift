import Encodings
import Fulfillment
import NamesAndTimes
import Testing

@testable import AppleProofs

@Suite("The content of an app receipt")
struct AppReceiptReadingTests {
    private func read(_ receipt: TestReceipt) throws -> ReceiptReading {
        let authority = try TestAuthority.receipts()
        return authority.reader.readReceipt(try receipt.signed(by: authority))
    }

    @Test("the proof reader reads every field of an app receipt and of its purchases")
    func fields() throws {
        let receipt = try #require(
            try read(
                TestReceipt(purchases: [
                    .init(transactionID: "2", quantity: 3),
                    .init(
                        transactionID: "1", purchaseDate: "2024-05-01T09:00:00Z", kind: 3,
                        expiryDate: "2024-06-01T09:00:00Z", cancellationDate: "2024-05-02T00:00:00Z",
                        originalTransactionID: "3"),
                ])
            ).receipt)
        #expect(receipt.style == .appReceipt)
        #expect(receipt.bundleID == "com.example.castle")
        #expect(receipt.appAppleID == 1_450_000_001)
        #expect(receipt.environment == .production)
        #expect(receipt.creationDate == Timestamp(rfc3339: "2024-05-01T08:00:05Z"))
        #expect(receipt.kinds == [.consumable, .autoRenewableSubscription])
        #expect(receipt.holdsAutoRenewable)
        #expect(receipt.unreadablePurchases == 0)
        let first = try #require(receipt.purchases.first)
        #expect(first.quantity == 3 && first.expiresAt == nil && first.cancelledAt == nil)
        #expect(first.originalTransactionID == "2")
        let last = try #require(receipt.purchases.last)
        #expect(last.originalTransactionID == "3")
        #expect(last.purchasedAt == Timestamp(rfc3339: "2024-05-01T09:00:00Z"))
        #expect(last.expiresAt == Timestamp(rfc3339: "2024-06-01T09:00:00Z"))
        #expect(last.cancelledAt == Timestamp(rfc3339: "2024-05-02T00:00:00Z"))
    }

    @Test(
        "an app receipt keeps an original purchase time only for a restored purchase, if the time is readable",
        arguments: [
            (DER.ia5("2021-03-01T08:00:00Z"), "2021-03-01T08:00:00Z"), (DER.ia5("soon"), nil), (DER.ia5(""), nil),
            ([], nil), (DER.integer(5), nil),
        ] as [([UInt8], String?)])
    func restoredCopy(value: [UInt8], time: String?) throws {
        var made = TestReceipt(purchases: [.init(transactionID: "2", kind: 0, originalTransactionID: "1")])
        made.purchases.append(.init(transactionID: "3", kind: 0))
        made.purchases.append(
            .init(transactionID: "5", kind: 3, expiryDate: "2024-06-01T09:00:00Z", originalTransactionID: "4"))
        made.overrides[1706] = value
        let receipt = try #require(try read(made).receipt)
        #expect(receipt.unreadablePurchases == 0)
        #expect(receipt.purchases.map(\.originalPurchasedAt) == [time.flatMap { Timestamp(rfc3339: $0) }, nil, nil])
    }

    @Test(
        "an app receipt's type decides the environment; the type Xcode and an empty type give no environment",
        arguments: [
            ("Production", StoreEnvironment?.some(.production)), ("ProductionVPP", .production),
            ("ProductionSandbox", .sandbox), ("ProductionVPPSandbox", .sandbox), ("Xcode", nil), ("", nil),
        ])
    func environments(type: String, environment: StoreEnvironment?) throws {
        #expect(try read(TestReceipt(environment: type)).receipt?.environment == environment)
    }

    @Test("a receipt without a signer or without a readable creation date is malformed")
    func malformed() throws {
        #expect(try read(TestReceipt(signerCount: 0)) == .malformed("the receipt has no signer"))
        #expect(try read(TestReceipt(creationDate: nil)) == .malformed("the receipt has no creation date"))
        #expect(try read(TestReceipt(creationDate: "")) == .malformed("the receipt has no creation date"))
        #expect(try read(TestReceipt(creationDate: "yesterday")) == .malformed("the receipt has no creation date"))
    }

    @Test("bytes that are no PKCS #7 signed message, sign no receipt, or exceed 1 MiB are malformed")
    func notAReceipt() throws {
        let authority = try TestAuthority.receipts()
        let reader = authority.reader
        let genuine = try TestReceipt().signed(by: authority)
        let noMessages: [[UInt8]] = [
            [0x30], [0x30, 0x00], DER.sequence(DER.oid(1, 2, 840, 113549, 1, 7, 1)), authority.leaf, genuine + [0],
            genuine.dropLast(), [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF],
            [0x30, 0x89] + [UInt8](repeating: 0xFF, count: 9),
        ]
        for bytes in noMessages {
            #expect(reader.readReceipt(bytes) == .malformed("not a PKCS #7 signed message"))
        }
        for payload in [[], DER.utf8("receipt"), DER.set(DER.utf8("x")), TestReceipt().payload + [0]] {
            let bytes = try TestReceipt().message(
                payload: payload, signing: payload, leaf: authority.leaf, certificates: [authority.leaf])
            #expect(reader.readReceipt(bytes) == .malformed("the signed content is no receipt"))
        }
        #expect(
            reader.readReceipt([UInt8](repeating: 0x30, count: ProofReader.maximumSize + 1))
                == .malformed("the receipt is longer than 1 MiB"))
    }

    @Test("the proof reader counts a receipt's unreadable purchases and still reads the other purchases")
    func unreadablePurchases() throws {
        let receipt = try #require(
            try read(
                TestReceipt(purchases: [
                    .init(transactionID: ""), .init(productID: ""), .init(quantity: 0), .init(quantity: 1 << 40),
                    .init(purchaseDate: ""), .init(cancellationDate: "soon"), .init(transactionID: "5"),
                    .init(productID: String(repeating: "p", count: 257)), .init(productID: "a\0b"),
                ])
            ).receipt)
        #expect(receipt.unreadablePurchases == 8)
        #expect(receipt.purchases.map(\.transactionID) == ["5"])
        #expect(receipt.signature == .proven)
    }

    @Test(
        "the proof reader reads all 900 purchases of a receipt of more than 200 KB",
        arguments: TestReceipt.Encoding.allCases)
    func largeReceipt(encoding: TestReceipt.Encoding) throws {
        let purchases = (0..<900).map {
            TestReceipt.Purchase(transactionID: "47\(1_000_000 + $0)", kind: Int64($0 % 4))
        }
        let authority = try TestAuthority.receipts()
        let bytes = try TestReceipt(purchases: purchases, encoding: encoding).signed(by: authority)
        #expect(bytes.count > 200_000)
        let receipt = try #require(authority.reader.readReceipt(bytes).receipt)
        #expect(receipt.purchases.map(\.transactionID.text) == purchases.map(\.transactionID))
        #expect(receipt.signature == .proven)
    }

    @Test("a sandbox receipt of another app is proven, and the proof reader reads its bundle id and environment")
    func foreignReceipts() throws {
        let foreign = try #require(
            try read(TestReceipt(bundleID: "com.example.club", environment: "ProductionSandbox")).receipt)
        #expect(foreign.bundleID == "com.example.club")
        #expect(foreign.environment == .sandbox)
        #expect(foreign.signature == .proven)
        #expect(try read(TestReceipt(bundleID: nil)).receipt?.bundleID == nil)
    }

    /// The first kilobyte of a receipt from production, as its owner published it in 2023.
    private static let excerpt = """
        MIIUYgYJKoZIhvcNAQcCoIIUUzCCFE8CAQExCzAJBgUrDgMCGgUAMIIDoAYJKoZIhvcNAQcBoIIDkQSCA40xggOJMAoCARQCAQEEAgwA
        MAsCARkCAQEEAwIBAzAMAgEOAgEBBAQCAgDnMA0CAQoCAQEEBRYDMTcrMA0CAQ0CAQEEBQIDAnKRMA4CAQECAQEEBgIEWjY+pTAOAgED
        AgEBBAYMBDY3LjAwDgIBCQIBAQQGAgRQMjYwMA4CAQsCAQEEBgIEBx5smzAOAgEQAgEBBAYCBDMfsaYwDgIBEwIBAQQGDAQ0OS4wMBIC
        AQ8CAQEECgIIBvbT3O8NtPwwFAIBAAIBAQQMDApQcm9kdWN0aW9uMBgCAQQCAQIEEO7yXwxbjOjnUta2fyPUyLQwHAIBBQIBAQQUOm1O
        ECcJC+fsCkg0UHAKddj32awwHgIBCAIBAQQWFhQyMDIzLTA2LTI4VDAwOjU1OjUyWjAeAgEMAgEBBBYWFDIwMjMtMDYtMjhUMDA6NTU6
        NTJaMB4CARICAQEEFhYUMjAyMi0xMC0xMFQxMjo0OTo1OFowHwIBAgIBAQQXDBVjb20ueWFsbGEueWFsbGFiYWxvb3QwRgIBBwIBAQQ+
        B6MbtmZLO6LVh2pyFTGXK4kIhCjr0tkJLiumfYMw6zshg3dpBuO86iJkXLcys2WV1HgLbyT8e+g9VncbnKAwTQIBBgIBAQRFCHEdkckJ
        bnMT3AaUE3ex61BFAs41sUtMq02JGxpC63yJl/1pNljyjiQyFWhu8wGf9Rze4nNZv5q5o2LYuKeeQ2tZwjAUMIIBZgIBEQIBAQSCAVwx
        ggFYMAsCAgasAgEBBAIWADALAgIGrQ
        """

    @Test(
        "from the truncated first kilobyte of a real receipt, the payload parser reads all attributes that are complete"
    )
    func productionExcerpt() throws {
        let bytes = try #require(Base64.decode(Self.excerpt.utf8))
        #expect(ProofReader(roots: .builtIn).readReceipt(bytes) == .malformed("not a PKCS #7 signed message"))
        // The payload's SET begins with attribute 20, and the excerpt ends within the first purchase.
        let start = try #require(bytes.firstRange(of: [0x30, 0x0A, 0x02, 0x01, 0x14]))
        var reader = BERReader(Array(bytes[start.lowerBound...]))
        var attributes: [UInt8] = []
        while let attribute = try? reader.next() { attributes += reader.bytes[attribute.whole] }
        let payload = try ReceiptPayload(DER.element(0x31, attributes))
        #expect(payload.bundleID == "com.yalla.yallabaloot")
        #expect(payload.appAppleID == 1_513_504_421)
        #expect(payload.environment == .production)
        #expect(payload.creationDate == Timestamp(rfc3339: "2023-06-28T00:55:52Z"))
        #expect(payload.purchases.isEmpty)
    }

    @Test(
        "a purchase with an unreadable date, quantity or original id counts as unreadable in a proven receipt",
        arguments: [
            (1712, DER.integer(7)), (1712, DER.ia5("yesterday")), (1712, [0xFF]), (1708, DER.octets([1])),
            (1708, DER.utf8("soon")), (1704, DER.null), (1701, DER.utf8("1")), (1705, DER.integer(5)),
            (1705, DER.utf8("0")), (1705, DER.utf8("02")),
        ] as [(Int64, [UInt8])])
    func unreadable(type: Int64, value: [UInt8]) throws {
        let authority = try TestAuthority.receipts()
        let reading = authority.reader.readReceipt(try TestReceipt(overrides: [type: value]).signed(by: authority))
        #expect(reading.receipt?.unreadablePurchases == 1 && reading.receipt?.purchases.isEmpty == true)
        #expect(reading.signature == .proven)
        let unset = authority.reader.readReceipt(
            try TestReceipt(overrides: [1712: [], 1708: DER.ia5("")]).signed(by: authority))
        #expect(unset.receipt?.purchases.count == 1 && unset.receipt?.unreadablePurchases == 0)
    }
}
