import Testing

@testable import Fulfillment

@Suite("The judge on what is decided again")
struct JudgeDecidedAgainTests {
    typealias Case = JudgePurchaseTests.Case

    @Test(
        "a refund or an upgrade by itself is no verdict where a decision may be lost, and with any other fault it is",
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
