import Testing

@testable import Fulfillment

@Suite("The judge on purchases whose grant PostgreSQL may have lost")
struct JudgeDecidedAgainTests {
    typealias Case = JudgePurchaseTests.Case

    @Test(
        "if PostgreSQL lost a purchase's grant, a refund or an upgrade alone does not reject the purchase",
        arguments: [Reason.cancelled, .upgraded])
    func decidedAgain(reason: Reason) throws {
        let order = JudgePurchaseTests.faults.map(\.verdict)
        let since: [JudgedPurchase.Verdict] = [.reject(.cancelled), .reject(.upgraded)]
        let later = try #require(order.firstIndex(of: .reject(reason)))
        var changed = Case()
        changed.isDecidedAgain = true
        JudgePurchaseTests.faults[later].add(&changed)
        guard case .grant = changed.verdict else { throw RefusedVerdict(verdict: changed.verdict) }
        for other in JudgePurchaseTests.faults.indices where !since.contains(order[other]) {
            var both = changed
            JudgePurchaseTests.faults[other].add(&both)
            #expect(both.verdict == order[min(other, later)])
        }
    }

    private struct RefusedVerdict: Error {
        let verdict: JudgedPurchase.Verdict?
    }
}
