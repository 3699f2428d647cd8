import Fulfillment
import NamesAndTimes
import Testing

@testable import Ledger

@Suite("Apple's price, storefront and offer of a purchase in PostgreSQL")
struct PurchaseFactsTests {
    private static var told: StorePurchase {
        var purchase = Sample.purchase("1000", quantity: 3)
        purchase.currency = "EUR"
        purchase.told = PurchaseFacts(
            priceMilliunits: 5970, storefront: "DEU", offerType: 1, offerDiscountType: "FREE_TRIAL",
            transactionReason: "RENEWAL")
        return purchase
    }

    @Test("a grant stores Apple's price, storefront and offer in columns, which are null if Apple omits the facts")
    func columns() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let purchases = [Self.told, Sample.purchase("2000")]
        _ = try await ledger.record(Sample.decision(purchases.map { Sample.judged($0) }, offset: 1))
        let rows = """
            SELECT count(*) FROM grants WHERE (transaction_id, price_milliunits, currency, storefront, offer_type,
                offer_discount_type, transaction_reason, is_trial)
            IS NOT DISTINCT FROM
            """
        let told = "('1000', 5970::bigint, 'EUR', 'DEU', 1, 'FREE_TRIAL', 'RENEWAL', true)"
        #expect(try await database.number("\(rows) \(told)") == 1)
        let untold = "('2000', NULL::bigint, NULL::text, NULL::text, NULL::int, NULL::text, NULL::text, NULL::bool)"
        #expect(try await database.number("\(rows) \(untold)") == 1)
        await ledger.close()
    }

    @Test("a receipt that the ledger stores as evidence reads back with the same facts")
    func evidence() {
        for purchase in [Self.told, Sample.purchase("2000")] {
            var receipt = Sample.receipt([purchase])
            #expect(GenuineReceipt(stored: receipt.storedBytes) == receipt)
            receipt.createdAt = Sample.noon
            #expect(GenuineReceipt(stored: receipt.storedBytes) == receipt)
            receipt.purchases[0].unreadable = ["quantity", "type"]
            #expect(GenuineReceipt(stored: receipt.storedBytes) == receipt)
        }
    }

    @Test("a restored copy's evidence keeps the time of the first purchase, and another purchase's evidence has none")
    func restoredCopy() {
        var copy = Sample.purchase("2000", original: "1000")
        copy.originalPurchasedAt = Timestamp(milliseconds: 1_600_000_000_000)
        let stored = Sample.receipt([copy]).storedBytes
        #expect(GenuineReceipt(stored: stored)?.purchases == [copy])
        #expect(String(decoding: stored, as: UTF8.self).contains(#""first":1600000000000"#))
        #expect(!String(decoding: Sample.receipt([Self.told]).storedBytes, as: UTF8.self).contains("first"))
    }

    @Test("if a transaction id in stored evidence has a leading zero, the evidence cannot be read")
    func unsoundID() {
        let wrong = [
            Sample.purchase("01000"),
            StorePurchase(
                transactionID: "1000", originalTransactionID: "01000", productID: "gold", purchasedAt: Sample.noon),
        ]
        for purchase in wrong {
            #expect(GenuineReceipt(stored: Sample.receipt([purchase]).storedBytes) == nil)
        }
    }
}
