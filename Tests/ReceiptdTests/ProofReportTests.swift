import Encodings
import Foundation
import Fulfillment
import NamesAndTimes
import Testing

@testable import Administration
@testable import AppleProofs

@Suite("The report of `receiptd proof`")
struct ProofReportTests {
    @Test("the report of `receiptd proof` lists the certificate chain, with control characters escaped")
    func chain() throws {
        var examined = ExaminedProof()
        examined.chain = ["Apple Root CA", "Apple WWDR", "Receipt \u{1B}[31m"]
        let report = ProofReport(examined, verdict: nil, showingTokens: false)
        #expect(report.text().contains("chain         Apple Root CA, Apple WWDR, Receipt \\u{1b}[31m"))
        let told = try JSONParser.parse(Array(report.json.utf8)).value["chain"]?.array
        #expect(told?.compactMap(\.string) == examined.chain)
        #expect(!ProofReport(ExaminedProof(), verdict: nil, showingTokens: false).json.contains("chain"))
    }

    @Test("the report of `receiptd proof` names a purchase's unreadable fields, and omits their values")
    func unreadable() throws {
        var purchase = StorePurchase(
            transactionID: "1", originalTransactionID: "1", productID: "gems", purchasedAt: Timestamp(milliseconds: 0))
        purchase.unreadable = ["quantity", "purchaseDate"]
        var examined = ExaminedProof()
        examined.purchases = [purchase]
        let report = ProofReport(examined, verdict: nil, showingTokens: false)
        let told = try #require(try JSONParser.parse(Array(report.json.utf8)).value["transactions"]?.array?.first)
        #expect(told["unreadable"]?.array?.compactMap(\.string) == ["quantity", "purchaseDate"])
        #expect(told["quantity"] == nil && told["purchased_at"] == nil && told["ownership"]?.string == "PURCHASED")
        #expect(report.text().contains("quantity, purchaseDate") && !report.text().contains("1970"))
    }

    @Test("the JSON report of `receiptd proof` has a purchase's price, storefront and offer")
    func told() throws {
        var purchase = StorePurchase(
            transactionID: "1", originalTransactionID: "1", productID: "vip", purchasedAt: Timestamp(milliseconds: 5))
        purchase.currency = "USD"
        purchase.told = PurchaseFacts(
            priceMilliunits: 4990, storefront: "USA", offerType: 1, offerDiscountType: "FREE_TRIAL",
            transactionReason: "PURCHASE")
        var examined = ExaminedProof()
        examined.purchases = [purchase]
        let json = ProofReport(examined, verdict: nil, showingTokens: false).json
        let told = try #require(try JSONParser.parse(Array(json.utf8)).value["transactions"]?.array?.first)
        #expect(told["price_milliunits"] == .number("4990") && told["currency"]?.string == "USD")
        #expect(told["storefront"]?.string == "USA" && told["offer_type"] == .number("1"))
        #expect(told["offer_discount_type"]?.string == "FREE_TRIAL" && told["is_trial"] == .bool(true))
        #expect(told["transaction_reason"]?.string == "PURCHASE")
    }

    @Test("`receiptd proof` reads an empty file as an empty proof, and fails for a missing file or a directory")
    func empty() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).proof")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try ProofFile.read(file.path).isEmpty)
        #expect(throws: CommandFailure.self) { try ProofFile.read(file.path + ".absent") }
        #expect(throws: CommandFailure.self) { try ProofFile.read(NSTemporaryDirectory()) }
    }
}
