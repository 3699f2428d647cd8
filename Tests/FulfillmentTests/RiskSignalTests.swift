import Testing

@testable import Fulfillment

@Suite("Risk signals")
struct RiskSignalTests {
    private func decision(
        _ id: StoreTransactionID, player: PlayerID, device: Identifier? = "phone", hasRisk: Bool = true,
        verdict: JudgedPurchase.Verdict = .grant(payload: nil), after milliseconds: Int64 = 0
    ) -> PendingDecision {
        let submission = Submission(
            submissionID: id, playerID: player, bundleID: Sample.bundle, proof: .receipt("MA=="), deviceID: device)
        var risk = RiskThresholds()
        risk.sharedDevicePlayers = 3
        risk.smallPurchasesPerDay = 2
        return PendingDecision(
            submission: submission, position: Sample.position(), proof: Digest256(hashing: Array(id.text.utf8)),
            ruling: .each([Sample.judged(Sample.purchase(id, after: milliseconds), .consumable, verdict)]),
            environment: .production, evidence: nil, decidedAt: Sample.recordTime, catalogVersion: 1, traceparent: nil,
            risk: hasRisk ? risk : nil)
    }

    private func risk(_ decision: PendingDecision, in view: inout LedgerView) -> [String] {
        let event = decision.settle(in: &view).events.last
        return (event?.member("risk")?.array ?? []).compactMap(\.string)
    }

    @Test("a device's players are counted each once, those of the batch too, and a signal decides nothing")
    func devices() {
        var view = LedgerView()
        view.risk.playersOfDevice[RiskFacts.Device(bundleID: Sample.bundle, id: "phone")] = ["before"]
        #expect(risk(decision("1", player: "before"), in: &view).isEmpty)
        #expect(risk(decision("2", player: "a"), in: &view).isEmpty)
        #expect(risk(decision("3", player: "b"), in: &view) == ["shared_device"])
        #expect(risk(decision("4", player: "c", verdict: .hold(.unknownProduct)), in: &view) == ["shared_device"])
        #expect(risk(decision("5", player: "d", device: "tablet"), in: &view).isEmpty)
        // The second purchase of that player's day.
        #expect(risk(decision("6", player: "d", device: nil), in: &view) == ["small_purchases"])
        #expect(view.grants.count == 5 && view.holds.count == 1)
    }

    @Test("a player's purchases of a UTC day are counted, and without thresholds nothing is told")
    func days() {
        var view = LedgerView()
        #expect(risk(decision("1", player: "a", device: nil), in: &view).isEmpty)
        #expect(risk(decision("2", player: "a", device: nil, after: 86_400_000), in: &view).isEmpty)
        #expect(risk(decision("3", player: "a", device: nil, hasRisk: false), in: &view).isEmpty)
        #expect(risk(decision("4", player: "a", device: nil), in: &view) == ["small_purchases"])
    }
}
