import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("Settlement against the ledger: the owner of a purchase")
struct SettlementTests {
    private func settle(
        _ judged: [JudgedPurchase], _ submission: Submission = Sample.submission(), offset: Int64 = 7,
        in view: inout LedgerView
    ) -> Settlement {
        Sample.decision(.each(judged), submission: submission, offset: offset).settle(in: &view)
    }

    private let second = Sample.submission("submission-2")
    private let stranger = Sample.submission("submission-3", player: "player-2")

    @Test(
        "a transaction of any kind is granted to its first submission in a batch, and later submissions are rejected",
        arguments: ProductKind.allCases)
    func firstWins(kind: ProductKind) {
        var view = LedgerView()
        let judged = Sample.judged(Sample.purchase(), kind)
        #expect(settle([judged], in: &view).events.map(\.kind) == [.granted])
        #expect(settle([judged], stranger, in: &view).answer?.reason == .ownedByOtherPlayer)
        #expect(settle([judged], second, in: &view).answer?.reason == .alreadyGranted)
        #expect(view.grants["1000"]?.player == "player-1")
    }

    @Test(
        "after a grant, no other player gets a transaction of the same original transaction, except a consumable",
        arguments: ProductKind.allCases)
    func originals(kind: ProductKind) {
        var view = LedgerView()
        _ = settle([Sample.judged(Sample.purchase("1", original: "0"), kind)], in: &view)
        let other = settle([Sample.judged(Sample.purchase("2", original: "0"), kind)], stranger, in: &view)
        #expect(other.answer?.reason == (kind == .consumable ? nil : .ownedByOtherPlayer))
        #expect(other.grants.isEmpty == (kind != .consumable))
    }

    @Test(
        "after a grant, its player gets a later transaction of the same original, except a non-consumable",
        arguments: ProductKind.allCases)
    func nextPeriod(kind: ProductKind) {
        var view = LedgerView()
        _ = settle([Sample.judged(Sample.purchase("1", original: "0"), kind)], in: &view)
        let next = settle([Sample.judged(Sample.purchase("2", original: "0"), kind)], second, in: &view)
        #expect(next.grants.count == (kind == .nonConsumable ? 0 : 1))
        #expect(next.answer?.reason == (kind == .nonConsumable ? .alreadyGranted : nil))
    }

    @Test("if the original transaction has no grant, a restored non-consumable is granted only once")
    func restoredOnce() {
        var view = LedgerView()
        let restored = (1...3).map {
            Sample.judged(Sample.purchase(StoreTransactionID("\($0)"), original: "0", after: Int64($0)), .nonConsumable)
        }
        let settlement = settle(restored, in: &view)
        #expect(settlement.outcomes.map(\.outcome) == [.granted, .alreadyGranted, .alreadyGranted])
        #expect(settlement.events.map(\.subject) == ["1"])
        #expect(settle([restored[2]], second, in: &view).answer?.reason == .alreadyGranted)
    }

    @Test("a purchase of unknown kind has the original's owner only if it has another original id or an expiry date")
    func unknownKind() {
        var period = Sample.purchase()
        period.expiresAt = Sample.recordTime
        let table: [(StorePurchase, Bool)] = [
            (Sample.purchase("1"), false), (Sample.purchase("1", original: "0"), true), (period, true),
        ]
        for (purchase, isOwned) in table {
            var view = LedgerView(claims: [purchase.originalTransactionID: LedgerView.Claim(player: "player-2")])
            let judged = Sample.judged(purchase, nil, .hold(.unknownProduct))
            #expect(judged.isOwnedByOriginal == isOwned)
            #expect(
                settle([judged], in: &view).answer?.reason == (isOwned ? .ownedByOtherPlayer : .unknownProduct))
        }
    }

    @Test("the same submission in a new record gets the same event bytes, even if the rules now decide otherwise")
    func sameSubmissionAgain() {
        var view = LedgerView()
        let purchase = Sample.purchase()
        let first = settle([Sample.judged(purchase)], in: &view)
        for verdict: JudgedPurchase.Verdict in [.grant(payload: "{}"), .hold(.retiredProduct), .reject(.cancelled)] {
            let again = settle([Sample.judged(purchase, nil, verdict)], offset: 8, in: &view)
            #expect(again.grants.isEmpty)
            #expect(again.events == first.events)
            #expect(again.events.map(\.value) == first.events.map(\.value))
        }
        view.grants["1000"]?.isRevoked = true
        #expect(settle([Sample.judged(purchase)], in: &view).events == first.events)
    }

    @Test("if a grant has no stored event, its player gets already_granted, and another player owned_by_other_player")
    func importedGrant() {
        let imported = LedgerView.Grant(player: "player-1", submission: nil, isRevoked: false, event: nil)
        var view = LedgerView(grants: ["1000": imported])
        #expect(settle([Sample.judged(Sample.purchase())], in: &view).answer?.reason == .alreadyGranted)
        #expect(settle([Sample.judged(Sample.purchase())], stranger, in: &view).answer?.reason == .ownedByOtherPlayer)
        let identity = Sample.decision(.each([])).identity
        for event: [UInt8]? in [nil, [], Array("{}".utf8)] {
            view.grants["1000"] = LedgerView.Grant(
                player: "player-1", submission: identity, isRevoked: false, event: event)
            #expect(settle([Sample.judged(Sample.purchase())], in: &view).answer?.reason == .alreadyGranted)
        }
    }

    @Test("if a grant is revoked, its player gets the reason cancelled, and another player owned_by_other_player")
    func revokedGrant() {
        var view = LedgerView()
        _ = settle([Sample.judged(Sample.purchase())], in: &view)
        view.grants["1000"]?.isRevoked = true
        #expect(settle([Sample.judged(Sample.purchase())], second, in: &view).answer?.reason == .cancelled)
        #expect(settle([Sample.judged(Sample.purchase())], stranger, in: &view).answer?.reason == .ownedByOtherPlayer)
    }

    @Test("a held transaction stays held and claimed by its player, even if the rules now decide otherwise")
    func hold() {
        var view = LedgerView()
        let held = Sample.judged(Sample.purchase(), .consumable, .hold(.retiredProduct))
        let first = settle([held], in: &view)
        #expect(first.holds.map(\.reason) == [.retiredProduct])
        #expect(first.answer?.kind == .held)
        let again = settle([Sample.judged(Sample.purchase())], second, in: &view)
        #expect(again.holds.isEmpty)
        #expect(again.grants.isEmpty)
        #expect(again.answer?.kind == .held)
        #expect(again.answer?.reason == .retiredProduct)
        #expect(settle([held], stranger, in: &view).answer?.reason == .ownedByOtherPlayer)
    }

    @Test("if an operator refuses a hold, its player is refused again, and another player can claim the transaction")
    func refusedHold() {
        var view = LedgerView()
        _ = settle([Sample.judged(Sample.purchase(), .consumable, .hold(.retiredProduct))], in: &view)
        view.holds["1000"] = nil
        view.refusals["1000"] = ["player-1"]
        view.claims["1000"]?.player = nil
        #expect(settle([Sample.judged(Sample.purchase())], second, in: &view).answer?.reason == .refusedByOperator)
        let theirs = settle(
            [Sample.judged(Sample.purchase(), .consumable, .hold(.unknownProduct))], stranger, in: &view)
        #expect(theirs.answer?.kind == .held)
        #expect(settle([Sample.judged(Sample.purchase())], second, in: &view).answer?.reason == .ownedByOtherPlayer)
        // Another player's hold has ended. The view still remembers the operator's refusal.
        view.holds["1000"] = nil
        view.claims["1000"]?.player = nil
        #expect(settle([Sample.judged(Sample.purchase())], second, in: &view).answer?.reason == .refusedByOperator)
        #expect(settle([Sample.judged(Sample.purchase())], stranger, in: &view).events.map(\.kind) == [.granted])
    }

    @Test("the ledger compares player ids by bytes: a composed and a decomposed accent are two players")
    func canonicalEquivalence() {
        var view = LedgerView()
        let composed = Sample.submission("s", player: "caf\u{E9}")
        let decomposed = Sample.submission("s", player: "cafe\u{301}")
        #expect(settle([Sample.judged(Sample.purchase())], composed, in: &view).grants.count == 1)
        #expect(
            settle([Sample.judged(Sample.purchase())], decomposed, in: &view).answer?.reason == .ownedByOtherPlayer)
    }
}
