import Crypto
import Fulfillment
import NamesAndTimes
import Testing

@testable import AppleProofs

@Suite("The signature and the claims of a signed transaction")
struct SignedTransactionTests {
    private func read(_ transaction: TestTransaction, _ traits: TestAuthority.Traits = .init()) throws
        -> SignedTransactionReading
    {
        let authority = try TestAuthority.transactions(traits)
        return authority.reader.readSignedTransaction(try transaction.signed(by: authority))
    }

    @Test("a genuine signed transaction is proven, and its claims are read")
    func genuine() throws {
        let transaction = try #require(try read(TestTransaction()).transaction)
        #expect(transaction.signature == .proven)
        #expect(transaction.bundleID == "com.example.castle")
        #expect(transaction.environment == .production)
        #expect(transaction.kind == .consumable)
        #expect(transaction.purchase.appTransactionID == "704000000000001")
        let told = PurchaseFacts(priceMilliunits: 1990, storefront: "USA", transactionReason: "PURCHASE")
        #expect(transaction.purchase.told == told)
        #expect(transaction.signedDate == Timestamp(milliseconds: 1_714_550_405_000))
        let purchase = transaction.purchase
        #expect(purchase.transactionID == "470000000000001" && purchase.originalTransactionID == "470000000000001")
        #expect(purchase.productID == "com.example.castle.gems.100")
        #expect(purchase.quantity == 2)
        #expect(purchase.purchasedAt == Timestamp(milliseconds: 1_714_550_400_000))
        #expect(purchase.appAccountToken == "7e3fb204-2ab2-4f36-a6e2-2f9f1b1d0a5c")
        #expect(purchase.currency == "USD")
        #expect(purchase.expiresAt == nil && purchase.cancelledAt == nil && !purchase.isFamilyShared)
    }

    @Test(
        "the proof reader reads dates, kind, owner and environment of a refunded, family-shared sandbox subscription")
    func otherClaims() throws {
        var made = TestTransaction()
        made.claims["revocationDate"] = "1714550500000"
        made.claims["expiresDate"] = "1.717e12"
        made.claims["inAppOwnershipType"] = "\"FAMILY_SHARED\""
        made.claims["type"] = "\"Auto-Renewable Subscription\""
        made.claims["environment"] = "\"Sandbox\""
        for absent in ["quantity", "originalTransactionId", "appAccountToken", "price", "currency"] {
            made.claims[absent] = nil
        }
        let transaction = try #require(try read(made).transaction)
        #expect(transaction.signature == .proven)
        #expect(transaction.environment == .sandbox)
        #expect(transaction.kind == .autoRenewableSubscription)
        #expect(transaction.purchase.cancelledAt == Timestamp(milliseconds: 1_714_550_500_000))
        #expect(transaction.purchase.expiresAt == Timestamp(milliseconds: 1_717_000_000_000))
        #expect(transaction.purchase.isFamilyShared)
        #expect(transaction.purchase.quantity == 1)
        #expect(transaction.purchase.originalTransactionID == "470000000000001")
        #expect(transaction.purchase.told?.priceMilliunits == nil && transaction.purchase.currency == nil)
    }

    @Test(
        "a signed transaction keeps its original purchase time only for a restored purchase, if the time is readable",
        arguments: [
            ("1614550400000", 1_614_550_400_000), ("\"1614550400000\"", nil), ("{}", nil), ("1e400", nil), (nil, nil),
        ] as [(String?, Int64?)])
    func restoredCopy(value: String?, milliseconds: Int64?) throws {
        var made = TestTransaction()
        made.claims["originalPurchaseDate"] = value
        #expect(try read(made).transaction?.purchase.originalPurchasedAt == nil)
        made.claims["originalTransactionId"] = "\"460000000000009\""
        let copy = try #require(try read(made).transaction).purchase
        #expect(copy.originalPurchasedAt == milliseconds.map(Timestamp.init(milliseconds:)) && copy.unreadable == [])
        made.claims["expiresDate"] = "1717000000000"
        #expect(try read(made).transaction?.purchase.originalPurchasedAt == nil)
    }

    static let flaws: [(TestAuthority.Traits, LocalSignature)] = [
        (.init(leafMarker: false), .forged(.leafMarker)),
        (.init(intermediateMarker: false), .forged(.intermediateMarker)),
        (.init(intermediateIsAuthority: false), .forged(.intermediateUsage)),
        (.init(leafSigns: false), .forged(.leafUsage)),
        (.init(leafFrom: "2024-05-01T08:00:06Z"), .forged(.notValidThen)),
        (.init(leafUntil: "2024-05-01T08:00:04Z"), .forged(.notValidThen)),
        (.init(leafUntil: "2024-05-01T08:00:05Z"), .proven),
        (.init(leafIsSignedByRoot: true), .forged(.brokenChain)),
    ]

    @Test(
        "a flawed chain, or a leaf not valid at signing, makes a transaction forged with the reason for this flaw",
        arguments: flaws)
    func flawedChains(traits: TestAuthority.Traits, signature: LocalSignature) throws {
        #expect(try read(TestTransaction(), traits).signature == signature)
    }

    @Test(
        "a header with an algorithm other than ES256 makes a transaction forged",
        arguments: ["\"none\"", "\"HS256\"", "\"RS256\"", "\"es256\"", "null", "1", "\"\""])
    func algorithms(algorithm: String) throws {
        #expect(try read(TestTransaction(algorithm: algorithm)).signature == .forged(.algorithm))
    }

    @Test("a transaction with alg none and an empty signature is forged, not malformed")
    func unsecured() throws {
        let authority = try TestAuthority.transactions()
        let token = try TestTransaction.token(header: "{\"alg\":\"none\"}", payload: TestTransaction().payload)
        let unsigned = String(token[...(token.lastIndex(of: ".") ?? token.startIndex)])
        #expect(authority.reader.readSignedTransaction(unsigned).signature == .forged(.algorithm))
    }

    @Test("a transaction is forged if its chain is not exactly leaf, intermediate and root")
    func chainLength() throws {
        let authority = try TestAuthority.transactions()
        let chain = [authority.leaf, authority.intermediate, authority.root]
        let cases: [([[UInt8]], Forgery)] = [
            ([], .chainMissing), ([authority.leaf], .chainLength), (Array(chain.dropLast()), .chainLength),
            (chain + [authority.root], .chainLength), (chain.reversed(), .intermediateMissing),
            ([authority.leaf, authority.leaf, authority.root], .intermediateMissing),
            ([[0x30, 0x00], authority.intermediate, authority.root], .unreadableCertificate),
        ]
        for (chain, forgery) in cases {
            let token = try TestTransaction().signed(by: authority, chain: chain)
            #expect(authority.reader.readSignedTransaction(token).signature == .forged(forgery))
        }
        let withoutChain = try TestTransaction.token(header: "{\"alg\":\"ES256\"}", payload: TestTransaction().payload)
        #expect(authority.reader.readSignedTransaction(withoutChain).signature == .forged(.chainMissing))
    }

    @Test("the proof reader checks a chain against the configured roots, and ignores the root in the JWS header")
    func pinnedRoot() throws {
        let authority = try TestAuthority.transactions()
        let token = try TestTransaction().signed(by: authority)
        #expect(ProofReader(roots: .builtIn).readSignedTransaction(token).signature == .forged(.unknownRoot))
        let other = try TestAuthority.root(TestKeys.otherRoot)
        let namesake = AppleRoots([other].compactMap { TrustedCertificate($0) })
        #expect(ProofReader(roots: namesake).readSignedTransaction(token).signature == .forged(.unknownRoot))
        let swapped = try TestTransaction().signed(
            by: authority, chain: [authority.leaf, authority.intermediate, other])
        #expect(authority.reader.readSignedTransaction(swapped).signature == .proven)
    }

    @Test("the proof reader ignores a key in the JWS header; a `crit` header makes a transaction forged")
    func headerKeys() throws {
        #expect(try read(TestTransaction(extraHeader: ",\"kid\":\"x\",\"jwk\":{\"kty\":\"oct\"}")).signature == .proven)
        #expect(try read(TestTransaction(extraHeader: ",\"crit\":[\"b64\"]")).signature == .forged(.criticalHeader))
    }

    @Test("a transaction with the RSA leaf certificate of a receipt is forged")
    func otherKind() throws {
        let authority = try TestAuthority.receipts()
        let token = try TestTransaction().signed(by: authority)
        #expect(authority.reader.readSignedTransaction(token).signature == .forged(.algorithm))
    }

    @Test("if a transaction's payload was replaced after signing, it is forged, but the proof reader reads its content")
    func swappedPayload() throws {
        let authority = try TestAuthority.transactions()
        let parts = try TestTransaction().signed(by: authority).split(separator: ".")
        var other = TestTransaction()
        other.claims["bundleId"] = "\"com.example.club\""
        let token = "\(parts[0]).\(TestTransaction.url(Array(other.payload.utf8))).\(parts[2])"
        let transaction = try #require(authority.reader.readSignedTransaction(token).transaction)
        #expect(transaction.signature == .forged(.signature))
        #expect(transaction.bundleID == "com.example.club")
        let shortened = "\(parts[0]).\(parts[1]).\(parts[2].dropLast(4))"
        #expect(authority.reader.readSignedTransaction(shortened).signature == .forged(.signature))
    }

    @Test(
        "a transaction from Xcode or local testing is forged, even with a valid signature",
        arguments: ["Xcode", "LocalTesting"])
    func developmentMachines(environment: String) throws {
        var made = TestTransaction()
        made.claims["environment"] = "\"\(environment)\""
        let transaction = try #require(try read(made).transaction)
        #expect(transaction.signature == .forged(.localEnvironment))
        #expect(transaction.environment == nil)
    }

    @Test("a transaction without a signed date is forged")
    func withoutSignedDate() throws {
        var made = TestTransaction()
        made.claims["signedDate"] = nil
        #expect(try read(made).signature == .forged(.signedDateMissing))
    }

    @Test("a JWS without a transaction id, product id or bundle id is no transaction if genuine, otherwise forged")
    func noTransaction() throws {
        for name in ["transactionId", "productId", "bundleId"] {
            var made = TestTransaction()
            made.claims[name] = nil
            #expect(try read(made) == .notATransaction, "\(name)")
            #expect(try read(made, .init(leafMarker: false)) == .unreadable(.forged(.leafMarker)), "\(name)")
        }
    }

    @Test("a text that is no JWS is malformed")
    func malformed() throws {
        let reader = ProofReader(roots: .builtIn)
        let cases: [(String, CompactJWS.Fault)] = [
            ("", .segments), (" \n", .segments), ("a.b", .segments), ("a.b.c.d", .segments), ("..", .segments),
            ("e30.e30", .segments), ("e30.e3!0.AA", .encoding), ("e30.e30.A", .encoding), ("e30 .e30.AA", .encoding),
            ("e30=.e30.AA", .encoding), ("AAAA.e30.AA", .header), ("W10.e30.AA", .header), ("e30.W10.AA", .payload),
            ("e30.AAAA.AA", .payload),
        ]
        for (text, fault) in cases {
            #expect(reader.readSignedTransaction(text) == .malformed(fault.rawValue), "\(text)")
        }
        let long = String(repeating: "a", count: ProofReader.maximumSize + 1)
        #expect(reader.readSignedTransaction(long) == .malformed("the JWS is longer than 1 MiB"))
    }

    @Test("a genuine JWS with leading and trailing white space is proven")
    func whiteSpace() throws {
        let authority = try TestAuthority.transactions()
        let token = try TestTransaction().signed(by: authority)
        #expect(authority.reader.readSignedTransaction("\n \(token)\r\n").signature == .proven)
    }

    @Test("in a signed transaction, a null claim counts as absent, and the nil UUID counts as no account token")
    func absent() throws {
        var made = TestTransaction()
        for name in ["revocationDate", "expiresDate", "isUpgraded", "type", "inAppOwnershipType", "quantity"] {
            made.claims[name] = "null"
        }
        made.claims["appAccountToken"] = "\"00000000-0000-0000-0000-000000000000\""
        let transaction = try #require(try read(made).transaction)
        #expect(transaction.purchase.unreadable.isEmpty && transaction.signature == .proven)
        #expect(transaction.purchase.appAccountToken == nil && transaction.purchase.type == nil)
        #expect(transaction.purchase.quantity == 1 && !transaction.purchase.isUpgraded)
    }

    @Test("the proof reader marks an upgraded period, and maps an unknown type or ownership to `other`")
    func marks() throws {
        var made = TestTransaction()
        made.claims["isUpgraded"] = "true"
        made.claims["type"] = "\"Bundle\""
        made.claims["inAppOwnershipType"] = "\"LENT\""
        let purchase = try #require(try read(made).transaction).purchase
        #expect(purchase.isUpgraded && purchase.type == .other && purchase.ownership == .other)
    }

    @Test("a transaction with an oversized intermediate key is not provable if its root is known, and forged if not")
    func keySizes() throws {
        let authority = try TestAuthority.transactions()
        // The certificate has the intermediate's name, and a key that is too large to check.
        let key = DER.sequence(
            DER.sequence(DER.oid(1, 2, 840, 113549, 1, 1, 1), DER.null),
            DER.element(
                0x03,
                [0]
                    + DER.sequence(
                        DER.element(0x02, [0] + [UInt8](repeating: 0xFF, count: 1024)), DER.integer(65_537))))
        let outline = try CertificateOutline(authority.intermediate)
        let algorithm = DER.sequence(DER.oid(1, 2, 840, 10045, 4, 3, 3))
        let validity = DER.sequence(
            DER.element(0x17, Array("200101000000Z".utf8)), DER.element(0x17, Array("300101000000Z".utf8)))
        let body = DER.sequence(
            DER.element(0xA0, DER.integer(2)), DER.integer(9), algorithm, Array(outline.issuer), validity,
            Array(outline.subject), key)
        for (signer, signature) in [
            (TestKeys.root, LocalSignature.notProvable(.keySize)), (TestKeys.otherRoot, .forged(.unknownRoot)),
        ] {
            let bits = try signer.signature(for: SHA384.hash(data: body)).derRepresentation
            let intermediate = DER.sequence(body, algorithm, DER.element(0x03, [0] + Array(bits)))
            let token = try TestTransaction().signed(
                by: authority, chain: [authority.leaf, intermediate, authority.root])
            #expect(authority.reader.readSignedTransaction(token).signature == signature)
        }
    }
}
