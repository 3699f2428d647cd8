import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("A refund that was reversed under another transaction id")
struct ReversedRefundTests {
    private static let reversedAt = RefundTests.day.adding(milliseconds: 5000)
    private static let beforeReversal = RefundTests.refundedAt
    private static let afterReversal = RefundTests.day.adding(milliseconds: 7000)

    /// Makes a view with a grant of transaction 1001, a copy of 1000, in which Apple reversed the refund of `reversed`.
    private func view(
        reversed: StoreTransactionID = "1000", kind: ProductKind = .nonConsumable
    ) -> RefundView {
        let grantedUnder: [StoreTransactionID: StoreTransactionID] = kind == .nonConsumable ? ["1000": "1001"] : [:]
        var view = RefundView(
            grants: ["1001": RefundTests.grant("1001", original: "1000")], grantedUnder: grantedUnder)
        let told = RefundTests.told(reversed, original: "1000", kind: kind, revokedAt: nil)
        let reversal = RefundNotice(id: "n-1", change: .reversed, signedAt: Self.reversedAt, transaction: told)
        let effect = settle(reversal, in: &view)
        #expect(effect == .remembered)
        return view
    }

    private func settle(_ notice: RefundNotice, in view: inout RefundView) -> RefundEffect {
        notice.settle(in: &view, at: RefundTests.day, catalog: RefundTests.catalog)
    }

    /// - Parameter id: the notification's id; nil if another answer of Apple shows the refund.
    private func refund(
        of transaction: StoreTransactionID = "1001", at time: Timestamp = Self.beforeReversal, id: Identifier? = nil,
        kind: ProductKind = .nonConsumable
    ) -> RefundNotice {
        RefundNotice(
            id: id, change: .revoked(.refund, at: time), signedAt: time,
            transaction: RefundTests.told(transaction, original: "1000", kind: kind, revokedAt: time))
    }

    @Test("if a restored copy shows a refund that is older than the reversal, the refund revokes nothing")
    func restoredCopy() {
        var view = view()
        let effect = settle(refund(), in: &view)
        #expect(effect == .outdated)
        #expect(view.grants["1001"]?.revokedAt == nil && view.grants["1001"]?.revision == 1)
    }

    @Test("if the reversal names the granted copy, an older refund that another copy shows revokes nothing")
    func otherCopy() {
        var view = view(reversed: "1001")
        let effect = settle(refund(of: "1002"), in: &view)
        #expect(effect == .outdated)
        #expect(view.grants["1001"]?.revokedAt == nil)
    }

    @Test("a refund after the reversal is a new refund and revokes the grant")
    func later() {
        var view = view()
        let effect = settle(refund(at: Self.afterReversal), in: &view)
        #expect(effect.name == "revoked")
        #expect(view.grants["1001"]?.revokedAt == Self.afterReversal)
    }

    @Test("a consumable's refund counts, even if the refund of another consumable of the same original was reversed")
    func consumable() {
        var view = view(kind: .consumable)
        let effect = settle(refund(kind: .consumable), in: &view)
        #expect(effect.name == "revoked")
    }

    @Test("a refund notification of the granted copy counts, even if the original's refund was reversed later")
    func notification() {
        var view = view()
        let effect = settle(refund(id: "n-2"), in: &view)
        #expect(effect.name == "revoked")
    }
}
