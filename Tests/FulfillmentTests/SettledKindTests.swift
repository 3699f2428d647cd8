import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("The kind by which the ledger settles a purchase")
struct SettledKindTests {
    private func kind(
        _ purchase: StorePurchase, catalog: ProductKind?, change: (inout StorePurchase) -> Void = { _ in }
    ) -> ProductKind? {
        var purchase = purchase
        change(&purchase)
        var app = Sample.app()
        app.products[Sample.product] = catalog.map { Product(id: Sample.product, kind: $0) }
        return app.settledKind(of: purchase)
    }

    @Test("Apple's signed type overrides the catalog's kind; an unknown type leaves the catalog's kind in force")
    func signed() {
        for catalog in [ProductKind.consumable, .nonConsumable, nil] {
            let signed = kind(Sample.purchase(), catalog: catalog) { $0.type = .known(.nonConsumable) }
            #expect(signed == .nonConsumable)
            #expect(kind(Sample.purchase(), catalog: catalog) { $0.type = .other } == catalog)
            #expect(kind(Sample.purchase(), catalog: catalog) == catalog)
        }
    }

    @Test(
        "a restored copy without a signed type is a non-consumable even if the catalog says consumable; a period is not"
    )
    func copy() {
        let copy = Sample.purchase("1001", original: "1000")
        for catalog in [ProductKind.consumable, .nonConsumable, nil] {
            #expect(kind(copy, catalog: catalog) == .nonConsumable)
        }
        #expect(kind(copy, catalog: .autoRenewableSubscription) == .autoRenewableSubscription)
        #expect(kind(copy, catalog: nil) { $0.expiresAt = Sample.recordTime } == nil)
        #expect(kind(copy, catalog: nil) { $0.webOrderLineItemID = "7" } == nil)
    }
}
