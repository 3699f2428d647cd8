import HistoryModel
import Testing

/// Tests of reports to Apple, and of grace periods that a notification named.
extension ModelTests {
    /// Returns the broken rules for a granted consumable of an app that reports to Apple. Apple asked about the
    /// consumable's refund after the grant.
    private func reported(
        finished: Set<String> = ["1"], told: [String] = ["anna"], answers: [ConsumptionAnswer] = [delivered],
        isGranted: Bool = true, reports: Bool = true
    ) throws -> Set<Difference.Rule> {
        var facts = facts()
        facts.apps[Self.app]?.reports = reports
        facts.refundRequests["n1"] = RefundRequest(transactionID: "1", signedAt: 1_900_000, isGranted: true)
        var seen = Seen()
        if isGranted {
            seen.events = [try event("receipt.granted", "1", id: "e1")]
            seen.grants = ["1": row()]
        }
        for (number, player) in told.enumerated() {
            seen.events.append(try event("refund.requested", "1", id: "r\(number)", to: player))
        }
        seen.finished = finished
        seen.answers = answers.isEmpty ? [:] : ["1": answers]
        return Set(Model(facts, seen).differences().filter { $0.rule == .reports }.map(\.rule))
    }

    private static let delivered = ConsumptionAnswer(isDelivered: true, percentage: nil)

    @Test("the history model requires that workers finish every granted purchase at Apple, and no other purchase")
    func finishes() throws {
        #expect(try reported().isEmpty)
        #expect(try reported(finished: []) == [.reports])
        #expect(try reported(finished: ["1", "2"]) == [.reports])
        #expect(try reported(finished: ["1"], answers: [], reports: false) == [.reports])
        #expect(try reported(finished: [], answers: [], reports: false).isEmpty)
    }

    @Test("the history model requires exactly one refund.requested event per refund request, for the purchase's owner")
    func refundRequests() throws {
        #expect(try reported(told: []) == [.reports])
        #expect(try reported(told: ["ben"]) == [.reports])
        #expect(try reported(told: ["anna", "anna"]) == [.reports])
    }

    @Test(
        "if Apple asks about a refund, the history model requires a true consumption answer that reports the delivery")
    func consumptionAnswers() throws {
        #expect(try reported(answers: []) == [.reports])
        #expect(try reported(answers: [ConsumptionAnswer(isDelivered: false, percentage: nil)]) == [.reports])
        #expect(try reported(answers: [ConsumptionAnswer(isDelivered: true, percentage: 40_000)]) == [.reports])
        #expect(try reported(finished: [], isGranted: false) == [.reports])
        #expect(try reported(finished: [], reports: false) == [.reports])
    }

    @Test("if a notification named a grace period, the history model requires the grant of the expired period")
    func knownGrace() throws {
        var facts = facts()
        facts.purchases["1"] = period("1", line: "line 1")
        facts.purchases["1"]?.expiresAt = 1_000_600
        facts.purchases["1"]?.graceEnd = 1_002_000
        facts.purchases["1"]?.isInGrace = true
        #expect(!rules(facts, [], [:]).contains(.paidArrives))
        facts.submissions[0].knownGraces = ["1"]
        #expect(rules(facts, [], [:]).contains(.paidArrives))
        facts.conditions.wasPutBack = true
        #expect(!rules(facts, [], [:]).contains(.paidArrives))
    }

    @Test(
        "the history model allows the rejection of a transaction id only after Apple denied the id in eight tries",
        arguments: [15, 16])
    func deniedID(requests: Int) throws {
        var facts = facts()
        facts.apps[Self.app]?.hasServerAPI = true
        var bare = Submission(
            id: "s1", player: "anna", bundleID: Self.app, form: .transactionID, quality: .proven, holds: ["1"],
            signedAt: 1_000_500)
        bare.token = "t"
        facts.purchases["1"]?.token = "t"
        facts.submissions = [bare]
        facts.conditions.unknownAtApple["1"] = requests
        #expect(rules(facts, [], [:]).contains(.paidArrives) == (requests < 16))
    }
}
