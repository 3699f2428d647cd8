import Encodings
import Fulfillment
import NamesAndTimes
import Testing

@testable import Administration
@testable import AppleProofs

@Suite("What `receiptd proof` prints")
struct ProofReportTests {
    @Test("names what of a purchase cannot be read, and prints nothing in its place")
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
}
