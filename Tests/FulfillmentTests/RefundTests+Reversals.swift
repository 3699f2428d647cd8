import Identifiers
import Testing
import Timestamps

@testable import Fulfillment

extension RefundTests {
    @Test("a refund that is told of again after its own reversal takes nothing back; a later one does")
    func retriedAfterReversal() {
        var view = RefundView(grants: ["1000": Self.grant()])
        #expect(settle(Self.notice(.reversed, id: "n-2", after: 5), in: &view) == .remembered)
        // Signed anew, of the same refund.
        #expect(settle(Self.notice(after: 9), in: &view) == .outdated)
        #expect(view.grants["1000"]?.revokedAt == nil && view.states[Self.notice().key]?.revokedAt == nil)
        let second = Self.day.adding(milliseconds: 7000)
        #expect(
            settle(Self.notice(.revoked(.refund, at: second), id: "n-3", after: 10), in: &view).name == "revoked")
        #expect(view.grants["1000"]?.revokedAt == second)
    }
}
