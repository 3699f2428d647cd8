import NamesAndTimes
import Testing

@testable import Fulfillment

extension JudgePurchaseTests {
    @Test(
        "a purchase made before the cutover is held, and a purchase at the cutover or later is granted",
        arguments: [(-1, false), (0, false), (1, true)] as [(Int64, Bool)])
    func cutover(milliseconds: Int64, isHeld: Bool) {
        var bent = Case()
        bent.app.cutover = Sample.purchaseTime.adding(milliseconds: milliseconds)
        #expect(bent.verdict == (isHeld ? .hold(.beforeCutover) : .grant(payload: nil)))
    }

    private static func restored(_ milliseconds: Int64?) -> Case {
        var bent = Case()
        bent.app.cutover = Sample.purchaseTime
        bent.bend { $0 = Product(id: Sample.product, kind: .nonConsumable) }
        bent.purchase = Sample.purchase("2000", original: "1000")
        bent.purchase.appAccountToken = Sample.token
        bent.purchase.originalPurchasedAt = milliseconds.map(Sample.purchaseTime.adding(milliseconds:))
        return bent
    }

    @Test(
        "for a restored purchase, the judge compares the earlier of purchase date and original date with the cutover",
        arguments: [(-1, true), (0, false), (1, false), (nil, false)] as [(Int64?, Bool)])
    func restoredCopy(milliseconds: Int64?, isHeld: Bool) {
        let verdict = isHeld ? JudgedPurchase.Verdict.hold(.beforeCutover) : .grant(payload: nil)
        for kind in [nil, .nonConsumable, .consumable, .nonRenewingSubscription] as [ProductKind?] {
            var bent = Self.restored(milliseconds)
            bent.bend { $0 = Product(id: Sample.product, kind: kind ?? .nonConsumable) }
            bent.purchase.type = kind.map(PurchaseType.known)
            #expect(bent.verdict == verdict, "\(String(describing: kind))")
        }
        var early = Self.restored(milliseconds)
        early.purchase.purchasedAt = Sample.purchaseTime.adding(milliseconds: -1)
        #expect(early.verdict == .hold(.beforeCutover))
        early.purchase.unreadable = ["purchase_date_ms"]
        #expect(early.verdict == .hold(.unreadableTransaction))
    }

    @Test("for periods and original transactions, the judge compares only the purchase date with the cutover")
    func laterPeriod() {
        let marks: [(inout Case) -> Void] = [
            { $0.purchase.expiresAt = Sample.recordTime.adding(milliseconds: 1) },
            { $0.purchase.webOrderLineItemID = "7" },
            { $0.purchase.type = .known(.autoRenewableSubscription) },
            { $0.bend { $0 = Product(id: Sample.product, kind: .autoRenewableSubscription) } },
            { bent in
                bent.purchase = Sample.purchase("1000")
                bent.purchase.appAccountToken = Sample.token
                bent.purchase.originalPurchasedAt = Sample.purchaseTime.adding(milliseconds: -1)
            },
        ]
        for (index, mark) in marks.enumerated() {
            var bent = Self.restored(-1)
            mark(&bent)
            #expect(bent.verdict != .hold(.beforeCutover), "\(index)")
        }
    }
}
