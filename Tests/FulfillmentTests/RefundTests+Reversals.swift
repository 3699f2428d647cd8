import NamesAndTimes
import Testing

@testable import Fulfillment

extension RefundTests {
    @Test(
        "if a refund arrives after its reversal, the refund revokes nothing; a refund of a later date revokes the grant"
    )
    func retriedAfterReversal() {
        var view = RefundView(grants: ["1000": Self.grant()])
        #expect(settle(Self.notice(.reversed, id: "n-2", after: 5), in: &view) == .remembered)
        // Apple signs a notification of the same refund again.
        #expect(settle(Self.notice(after: 9), in: &view) == .outdated)
        #expect(view.grants["1000"]?.revokedAt == nil && view.states[Self.notice().key]?.revokedAt == nil)
        let second = Self.day.adding(milliseconds: 7000)
        #expect(
            settle(Self.notice(.revoked(.refund, at: second), id: "n-3", after: 10), in: &view).name == "revoked")
        #expect(view.grants["1000"]?.revokedAt == second)
    }

    @Test("after a reversal, a newer refund notification revokes the grant again; a refund shown in an answer does not")
    func anotherAfterReversal() {
        var view = RefundView(grants: ["1000": Self.grant()])
        #expect(settle(Self.notice(after: 1), in: &view).name == "revoked")
        #expect(settle(Self.notice(.reversed, id: "n-2", after: 5), in: &view).name == "reinstated")
        let shown = RefundNotice(
            id: nil, change: .revoked(.refund, at: Self.refundedAt), signedAt: Self.day.adding(milliseconds: 9000),
            transaction: Self.told())
        #expect(settle(shown, in: &view) == .outdated)
        #expect(settle(Self.notice(id: "n-3", after: 4), in: &view) == .outdated)
        #expect(settle(Self.notice(after: 9), in: &view) == .duplicate)
        #expect(settle(Self.notice(id: "n-4", after: 9), in: &view).name == "revoked")
        #expect(view.grants["1000"]?.revision == 4)
    }

    @Test("if Apple's answer shows a refund that is then reversed, later notifications of this refund revoke nothing")
    func shownBeforeReversal() {
        var view = RefundView(grants: ["1000": Self.grant()])
        let shown = RefundNotice(
            id: nil, change: .revoked(.refund, at: Self.refundedAt), signedAt: Self.refundedAt, transaction: Self.told()
        )
        #expect(settle(shown, in: &view).name == "revoked")
        #expect(settle(Self.notice(.reversed, id: "n-2", after: 5), in: &view).name == "reinstated")
        #expect(settle(Self.notice(after: 9), in: &view) == .outdated)
        #expect(settle(Self.notice(id: "n-3", after: 10), in: &view) == .outdated)
    }
}
