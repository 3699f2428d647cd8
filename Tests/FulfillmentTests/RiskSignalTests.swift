import Encodings
import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("The risk signals of an event")
struct RiskSignalTests {
    private func decision(
        _ id: StoreTransactionID, player: PlayerID, device: Identifier? = "phone", hasRisk: Bool = true,
        verdict: JudgedPurchase.Verdict = .grant(payload: nil), after milliseconds: Int64 = 0,
        account: AppTransactionID? = nil
    ) -> PendingDecision {
        let submission = Submission(
            submissionID: id, playerID: player, bundleID: Sample.bundle, proof: .receipt("MA=="), deviceID: device)
        var risk = RiskThresholds()
        risk.sharedDevicePlayers = 3
        risk.smallPurchasesPerDay = 2
        risk.manyAccounts = 3
        var purchase = Sample.purchase(id, after: milliseconds)
        purchase.appTransactionID = account
        return PendingDecision(
            submission: submission, position: Sample.position(), proof: Digest256(hashing: Array(id.text.utf8)),
            verdict: .each([Sample.judged(purchase, .consumable, verdict)]),
            environment: .production, evidence: nil, decidedAt: Sample.recordTime, catalogVersion: 1, traceparent: nil,
            risk: hasRisk ? risk : nil)
    }

    private func risk(_ decision: PendingDecision, in view: inout LedgerView) -> [String] {
        let event = decision.settle(in: &view).events.last
        return (event?.member("risk")?.array ?? []).compactMap(\.string)
    }

    @Test("the third player of a device gets the signal shared_device and still gets the grant")
    func devices() {
        var view = LedgerView()
        view.risk.playersOfDevice[RiskFacts.Device(bundleID: Sample.bundle, id: "phone")] = ["before"]
        #expect(risk(decision("1", player: "before"), in: &view).isEmpty)
        #expect(risk(decision("2", player: "a"), in: &view).isEmpty)
        #expect(risk(decision("3", player: "b"), in: &view) == ["shared_device"])
        #expect(risk(decision("4", player: "c", verdict: .hold(.unknownProduct)), in: &view) == ["shared_device"])
        #expect(risk(decision("5", player: "d", device: "tablet"), in: &view).isEmpty)
        // The purchase is the second of player d on this day.
        #expect(risk(decision("6", player: "d", device: nil), in: &view) == ["small_purchases"])
        #expect(view.grants.count == 5 && view.holds.count == 1)
    }

    @Test("small_purchases counts per player and UTC day; without thresholds, an event has no risk signal")
    func days() {
        var view = LedgerView()
        #expect(risk(decision("1", player: "a", device: nil), in: &view).isEmpty)
        #expect(risk(decision("2", player: "a", device: nil, after: 86_400_000), in: &view).isEmpty)
        #expect(risk(decision("3", player: "a", device: nil, hasRisk: false), in: &view).isEmpty)
        #expect(risk(decision("4", player: "a", device: nil), in: &view) == ["small_purchases"])
    }

    @Test(
        "many_accounts counts a player's Apple accounts; the account of a held purchase counts only for this purchase")
    func accounts() {
        var view = LedgerView()
        let day: Int64 = 86_400_000
        func risk(_ id: StoreTransactionID, _ account: AppTransactionID?, isHeld: Bool = false, day number: Int64)
            -> [String]
        {
            let verdict: JudgedPurchase.Verdict = isHeld ? .hold(.unknownProduct) : .grant(payload: nil)
            return self.risk(
                decision(
                    id, player: "a", device: nil, verdict: verdict, after: number * day, account: account), in: &view)
        }
        view.risk.accountsOfPlayer[RiskFacts.PlayerOfApp(bundleID: Sample.bundle, player: "a")] = ["before"]
        #expect(risk("1", "before", day: 1).isEmpty)
        #expect(risk("2", "second", day: 2).isEmpty)
        #expect(risk("3", nil, day: 3).isEmpty)
        #expect(risk("4", "third", isHeld: true, day: 4) == ["many_accounts"])
        // A held purchase does not count for the next purchase.
        #expect(risk("5", "second", day: 5).isEmpty)
        #expect(risk("6", "fourth", day: 6) == ["many_accounts"])
        #expect(risk("7", nil, day: 7) == ["many_accounts"])
        #expect(self.risk(decision("8", player: "b", device: nil, account: "third"), in: &view).isEmpty)
    }

    @Test("an event decoded from its stored bytes keeps the risk signals")
    func stored() throws {
        var view = LedgerView()
        view.risk.playersOfDevice[RiskFacts.Device(bundleID: Sample.bundle, id: "phone")] = ["a", "b"]
        let event = try #require(decision("1", player: "c").settle(in: &view).events.first)
        #expect(event.risk == [.sharedDevice] && OutcomeEvent(stored: event.value) == event)
    }
}
