import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("The events of one submission")
struct SettlementAnswerTests {
    private func settle(_ judged: [JudgedPurchase], view: LedgerView = LedgerView()) -> Settlement {
        var view = view
        return Sample.decision(.each(judged)).settle(in: &view)
    }

    private func judged(
        _ id: StoreTransactionID, _ verdict: JudgedPurchase.Verdict, after milliseconds: Int64 = 0
    ) -> JudgedPurchase {
        Sample.judged(Sample.purchase(id, after: milliseconds), .consumable, verdict)
    }

    @Test("a submission's grant events are ordered by time and id, and each event lists its own transaction first")
    func grantedOrder() {
        let receipt = Sample.receipt([
            Sample.purchase("9"), Sample.purchase("10"), Sample.purchase("8", after: 1),
            Sample.purchase("7", after: -1),
        ])
        let settlement = settle(receipt.purchases.map { Sample.judged($0) })
        #expect(settlement.events.map(\.subject) == ["7", "10", "9", "8"])
        #expect(settlement.answer == nil)
        for event in settlement.events {
            #expect(event.kind == .granted)
            #expect(event.listed.first == "\(event.subject) granted -")
            #expect(event.listed.count == 4)
        }
        #expect(settlement.events[2].listed == ["9 granted -", "7 granted -", "10 granted -", "8 granted -"])
    }

    @Test("a submission's events for earlier and for new grants come in the order of the purchases")
    func reissuedOrder() {
        var view = LedgerView()
        _ = Sample.decision(.each([judged("2", .grant(payload: nil), after: 2)])).settle(in: &view)
        let settlement = settle(
            (1...3).map { judged(StoreTransactionID("\($0)"), .grant(payload: nil), after: Int64($0)) }, view: view)
        #expect(settlement.events.map(\.subject) == ["1", "2", "3"])
        #expect(settlement.grants.map(\.purchase.transactionID) == ["1", "3"])
    }

    @Test(
        "if some transactions are granted and others held, the submission gets grant events and the newest hold's event"
    )
    func heldAndGranted() {
        let settlement = settle([
            judged("1", .hold(.beforeCutover)), judged("2", .grant(payload: nil)), judged("3", .hold(.retiredProduct)),
            judged("4", .reject(.cancelled)),
        ])
        #expect(settlement.events.map(\.kind) == [.granted, .held])
        #expect(settlement.answer?.reason == .retiredProduct)
        #expect(settlement.holds.map(\.reason) == [.beforeCutover, .retiredProduct])
        #expect(
            settlement.answer?.listed
                == ["3 held retired_product", "1 held before_cutover", "2 granted -", "4 rejected cancelled"])
    }

    @Test("a held event lists the held transaction before a rejected transaction, even if both have the same reason")
    func heldListsHeldFirst() {
        let settlement = settle([judged("1", .hold(.retiredProduct)), judged("2", .reject(.retiredProduct))])
        #expect(settlement.answer?.kind == .held)
        #expect(settlement.answer?.listed == ["1 held retired_product", "2 rejected retired_product"])
    }

    @Test("a submission with a granted and a rejected transaction gets only a grant event that lists both transactions")
    func grantedAndRejected() {
        let settlement = settle([judged("1", .grant(payload: nil)), judged("2", .reject(.cancelled))])
        #expect(settlement.events.map(\.kind) == [.granted])
        #expect(settlement.events.first?.listed == ["1 granted -", "2 rejected cancelled"])
    }

    @Test("if nothing is granted or held, the rejection has the newest transaction's reason")
    func newestReason() {
        let settlement = settle([judged("1", .reject(.cancelled)), judged("2", .reject(.familyShared), after: 1)])
        #expect(settlement.events.map(\.kind) == [.rejected])
        #expect(settlement.answer?.reason == .familyShared)
        #expect(settlement.answer?.subject == "submission-1")
    }

    @Test("if nothing is granted or held and the player already has a transaction, the rejection says already_granted")
    func alreadyGrantedFirst() {
        let grant = LedgerView.Grant(player: "player-1", submission: nil, isRevoked: false, event: nil)
        let settlement = settle(
            [judged("1", .grant(payload: nil)), judged("2", .reject(.cancelled))],
            view: LedgerView(grants: ["1": grant]))
        #expect(settlement.events.map(\.kind) == [.rejected])
        #expect(settlement.answer?.reason == .alreadyGranted)
        #expect(settlement.answer?.listed == ["1 already_granted already_granted", "2 rejected cancelled"])
    }

    @Test("the event that rejects a whole submission lists every transaction as rejected, with the submission's reason")
    func whole() {
        var view = LedgerView()
        let purchases = [Sample.purchase("1"), Sample.purchase("2", after: 1)]
        let settlement = Sample.decision(.whole(.productMismatch, purchases)).settle(in: &view)
        #expect(settlement.events.map(\.kind) == [.rejected])
        #expect(settlement.answer?.reason == .productMismatch)
        #expect(Set(settlement.answer?.listed ?? []) == ["1 rejected product_mismatch", "2 rejected product_mismatch"])
        #expect(view.grants.isEmpty && view.holds.isEmpty && view.claims.isEmpty)
        let empty = Sample.decision(.whole(.noPurchase, [])).settle(in: &view)
        #expect(empty.events.map(\.reason) == [.noPurchase])
    }

    @Test("another player's grant overrides any verdict of the judge")
    func ledgerFirst() {
        let others = LedgerView.Grant(player: "player-2", submission: nil, isRevoked: false, event: nil)
        for verdict: JudgedPurchase.Verdict in [.reject(.bindingMismatch), .reject(.cancelled), .hold(.beforeCutover)] {
            #expect(
                settle([judged("1", verdict)], view: LedgerView(grants: ["1": others])).answer?.reason
                    == .ownedByOtherPlayer)
        }
    }

    @Test("a rejected transaction makes no grant, hold or claim, and leaves an existing claim unchanged")
    func rejectionClaimsNothing() {
        let free = LedgerView.Claim(player: nil)
        let (own, other) = (LedgerView.Claim(player: "player-1"), LedgerView.Claim(player: "player-2"))
        let before: [[StoreTransactionID: LedgerView.Claim]] = [[:], ["1": free], ["1": own], ["1": other]]
        for claims in before {
            var view = LedgerView(claims: claims)
            let settlement = Sample.decision(.each([judged("1", .reject(.cancelled))])).settle(in: &view)
            #expect(settlement.answer?.reason == .cancelled)
            #expect(view.grants.isEmpty && view.holds.isEmpty && view.claims == claims)
        }
    }
}
