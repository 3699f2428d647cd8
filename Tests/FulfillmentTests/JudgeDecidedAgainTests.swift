import Testing

@testable import Fulfillment

@Suite("The judge on what is decided again")
struct JudgeDecidedAgainTests {
    typealias Case = JudgePurchaseTests.Case

    @Test("a refund by itself is no verdict where a decision may be lost, and with any other fault it is")
    func decidedAgain() throws {
        let order = JudgePurchaseTests.faults.map(\.verdict)
        let cancelled = try #require(order.firstIndex(of: .reject(.cancelled)))
        var refunded = Case()
        refunded.isDecidedAgain = true
        JudgePurchaseTests.faults[cancelled].add(&refunded)
        guard case .grant = refunded.verdict else { throw RefusedVerdict(verdict: refunded.verdict) }
        for other in JudgePurchaseTests.faults.indices where other != cancelled {
            var both = refunded
            JudgePurchaseTests.faults[other].add(&both)
            #expect(both.verdict == order[min(other, cancelled)])
        }
    }

    private struct RefusedVerdict: Error {
        let verdict: JudgedPurchase.Verdict?
    }
}
