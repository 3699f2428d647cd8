import Fulfillment
import NamesAndTimes
import Testing

@testable import AppleProofs

@Suite("Signed parts of Apple's answers")
struct SignedDataTests {
    private static let renewal = [
        "originalTransactionId": "\"470000000000001\"", "autoRenewProductId": "\"pass.yearly\"",
        "productId": "\"pass.monthly\"", "autoRenewStatus": "1", "isInBillingRetryPeriod": "true",
        "gracePeriodExpiresDate": "1714550900000", "signedDate": "1714550405000", "environment": "\"Production\"",
        "expirationIntent": "2", "renewalDate": "1714550800000",
    ]

    private let authority: TestAuthority
    private let reader: ProofReader

    init() throws {
        authority = try TestAuthority.transactions()
        reader = authority.reader
    }

    private func signed(_ claims: [String: String], chain: [[UInt8]]? = nil) throws -> String {
        var token = TestTransaction()
        token.claims = claims
        return try token.signed(by: authority, chain: chain)
    }

    private func renewal(_ changes: [String: String?]) throws -> SignedReading<RenewalInfo> {
        var claims = Self.renewal
        for (name, value) in changes { claims[name] = value }
        return reader.parse(renewalInfo: try signed(claims))
    }

    @Test("the parser reads renewal information that Apple signed")
    func renewalInfo() throws {
        let expected = RenewalInfo(
            originalTransactionID: "470000000000001", productID: "pass.monthly", renewalProductID: "pass.yearly",
            willRenew: true, isInBillingRetry: true, graceExpiresAt: Timestamp(milliseconds: 1_714_550_900_000),
            environment: .production, signedAt: Timestamp(milliseconds: 1_714_550_405_000))
        #expect(try renewal([:]) == .proven(expected))
        #expect(try renewal(["autoRenewStatus": "0"]).proven?.willRenew == false)
        #expect(try renewal(["autoRenewStatus": "7"]).proven?.willRenew == .some(nil))
        let short = try #require(
            try renewal(["isInBillingRetryPeriod": nil, "gracePeriodExpiresDate": nil, "environment": nil]).proven)
        #expect(!short.isInBillingRetry && short.graceExpiresAt == nil && short.environment == nil)
    }

    @Test("the parser refuses a transaction as renewal information, and renewal information as a transaction")
    func confusion() throws {
        let transaction = try TestTransaction().signed(by: authority)
        #expect(reader.parse(renewalInfo: transaction) == .unusable("not renewal information"))
        #expect(reader.parse(transactionInfo: try signed(Self.renewal)) == .unusable("not a transaction"))
        #expect(try renewal(["autoRenewStatus": nil, "autoRenewProductId": nil]).proven == nil)
    }

    @Test("the parser refuses renewal information with an unreadable member or without a signed date")
    func unreadable() throws {
        for (name, value) in [
            ("autoRenewStatus", "\"1\""), ("isInBillingRetryPeriod", "1"), ("gracePeriodExpiresDate", "\"soon\""),
            ("autoRenewProductId", "1"), ("environment", "\"Xcode\""), ("environment", "1"),
            ("originalTransactionId", "1"), ("signedDate", "\"now\""),
        ] {
            #expect(try renewal([name: value]).proven == nil, "\(name) \(value)")
        }
        #expect(try renewal(["signedDate": nil]) == .unusable("it has no signedDate"))
    }

    @Test("the parser refuses renewal information that Apple did not sign, and text that is no JWS")
    func forged() throws {
        let genuine = try signed(Self.renewal).split(separator: ".")
        var claims = Self.renewal
        claims["autoRenewStatus"] = "0"
        let other = try signed(claims).split(separator: ".")
        #expect(reader.parse(renewalInfo: "\(genuine[0]).\(other[1]).\(genuine[2])").proven == nil)
        #expect(
            ProofReader(roots: .builtIn).parse(renewalInfo: try signed(Self.renewal))
                == .unusable(Forgery.unknownRoot.rawValue))
        for text in ["", "a.b.c", "..", "e30.e30.", String(repeating: "x", count: ProofReader.maximumSize + 1)] {
            #expect(reader.parse(renewalInfo: text).proven == nil)
            #expect(reader.parse(transactionInfo: text).proven == nil)
        }
    }

    @Test("the parser reads a transaction's subscription group, previous original transaction and revocation")
    func transaction() throws {
        var token = TestTransaction()
        token.claims["subscriptionGroupIdentifier"] = "\"20500000\""
        token.claims["previousOriginalTransactionId"] = "\"460000000000009\""
        token.claims["revocationType"] = "\"REFUND_PRORATED\""
        token.claims["revocationPercentage"] = "50000"
        let told = try #require(reader.parse(transactionInfo: try token.signed(by: authority)).proven)
        #expect(told.subscriptionGroupID == "20500000" && told.previousOriginalTransactionID == "460000000000009")
        #expect(told.purchase.previousOriginalTransactionID == "460000000000009")
        #expect(told.revocationType == "REFUND_PRORATED" && told.refundedMilliPercent == 50_000)
        #expect(told.signedAt == Timestamp(milliseconds: 1_714_550_405_000) && told.bundleID == "com.example.castle")
    }

    @Test("the parser refuses mutated renewal information, unless the content equals the content that Apple signed")
    func mutations() throws {
        let original = try signed(Self.renewal)
        let genuine = reader.parse(renewalInfo: original)
        var mutated = MutatedBytes([Array(original.utf8)], seed: 14)
        for _ in 0..<2000 {
            let reading = reader.parse(renewalInfo: String(decoding: mutated.next(), as: UTF8.self))
            #expect(reading.proven == nil || reading == genuine)
        }
    }
}
