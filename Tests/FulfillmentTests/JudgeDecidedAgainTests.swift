import Testing

@testable import Fulfillment

@Suite("The judge on purchases that a worker decides again")
struct JudgeDecidedAgainTests {
    typealias Case = JudgePurchaseTests.Case

    @Test(
        "on a second decision, the judge ignores a refund or an upgrade, unless the purchase has another fault",
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
