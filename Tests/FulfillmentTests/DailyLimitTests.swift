import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("The daily limit of a product")
struct DailyLimitTests {
    private func limited(
        _ id: StoreTransactionID, product: ProductID = Sample.product, after milliseconds: Int64 = 0
    ) -> JudgedPurchase {
        JudgedPurchase(
            purchase: Sample.purchase(id, product: product, after: milliseconds), kind: .consumable,
            verdict: .grant(payload: nil), dailyLimit: 2)
    }

    @Test(
        "if a player buys three times under a daily limit of two, the third is held, and no other player can get it"
    )
    func pastTheLimit() {
        var view = LedgerView()
        let three = ["1", "2", "3"].map { limited($0) }
        let settlement = Sample.decision(.each(three)).settle(in: &view)
        #expect(settlement.events.map(\.kind) == [.granted, .granted, .held])
        #expect(settlement.answer?.reason == .dailyLimit)
        #expect(settlement.holds.map(\.purchase.transactionID) == ["3"])
        let stranger = Sample.submission("other", player: "player-2")
        let theirs = Sample.decision(.each([three[2]]), submission: stranger).settle(in: &view)
        #expect(theirs.answer?.reason == .ownedByOtherPlayer)
    }

    @Test("a daily limit counts each player, product and UTC day separately, and counts purchases of earlier batches")
    func countedApart() {
        let decision = Sample.decision(.each([limited("1")]))
        var view = LedgerView(dailyCounts: [decision.dailyCount(of: Sample.purchase("1")): 2])
        #expect(decision.settle(in: &view).answer?.reason == .dailyLimit)
        let tomorrow = Sample.decision(.each([limited("2", after: 86_400_000)]))
        #expect(tomorrow.settle(in: &view).grants.count == 1)
        let other = Sample.decision(.each([limited("3")]), submission: Sample.submission("s", player: "player-2"))
        #expect(other.settle(in: &view).grants.count == 1)
        // Only purchases of the other product count against that product's limit.
        var granted: [Int] = []
        for id: StoreTransactionID in ["4", "5", "6"] {
            let silver = Sample.decision(.each([limited(id, product: "silver.1")]))
            granted.append(silver.settle(in: &view).grants.count)
        }
        #expect(granted == [1, 1, 0])
    }

    @Test(
        "if a submission is repeated, it gets the same grant event, and the daily limit counts its purchase only once")
    func reissued() {
        var view = LedgerView()
        let decision = Sample.decision(.each([limited("1")]))
        let first = decision.settle(in: &view)
        for _ in 0..<5 { #expect(decision.settle(in: &view).events == first.events) }
        #expect(view.dailyCounts[decision.dailyCount(of: Sample.purchase("1"))] == 1)
        #expect(Sample.decision(.each([limited("2")]), offset: 9).settle(in: &view).grants.count == 1)
    }

    @Test("the catalog's daily limit applies to a purchase, unless an operator waived daily_limit")
    func judged() {
        var product = Product(id: Sample.product, kind: .consumable)
        product.dailyLimit = 6
        for (waived, limit): (Set<Reason>, Int?) in [([], 6), ([.dailyLimit], nil), ([.unknownProduct], 6)] {
            let judge = Judge(
                submission: Sample.submission(), under: Sample.app([product]).terms, recordTimestamp: Sample.recordTime,
                now: Sample.recordTime,
                signature: .notProvable, waived: waived)
            let receipt = Sample.receipt()
            #expect(judge.judged(receipt.purchases[0], in: receipt).dailyLimit == limit)
        }
    }
}

@Suite("Disputes between two players about a purchase")
struct OwnershipDisputeTests {
    private var bound: JudgedPurchase {
        var purchase = Sample.purchase()
        purchase.appAccountToken = Sample.token
        return Sample.judged(purchase)
    }

    private func view(winnerToken: String?) -> LedgerView {
        var view = LedgerView()
        let winner = Sample.submission("first", player: "player-2", token: winnerToken)
        _ = Sample.decision(.each([bound]), submission: winner).settle(in: &view)
        return view
    }

    private let owner = Sample.submission("second", player: "player-1", token: Sample.token)

    @Test(
        "if a player without the token has the grant, the token owner's purchase is held until an operator refuses it")
    func disputed() {
        var view = view(winnerToken: nil)
        let settlement = Sample.decision(.each([bound]), submission: owner).settle(in: &view)
        #expect(settlement.answer?.kind == .held)
        #expect(settlement.answer?.reason == .ownershipDisputed)
        #expect(settlement.holds.count == 1)
        let again = Sample.decision(.each([bound]), submission: owner, offset: 8).settle(in: &view)
        #expect(again.holds.isEmpty)
        #expect(again.answer?.reason == .ownershipDisputed)
        let winner = Sample.submission("third", player: "player-2")
        #expect(
            Sample.decision(.each([bound]), submission: winner, offset: 9).settle(in: &view).answer?.reason
                == .alreadyGranted)
        view.holds["1000"] = nil
        view.refusals["1000"] = ["player-1"]
        let refused = Sample.decision(.each([bound]), submission: owner, offset: 10).settle(in: &view)
        #expect(refused.answer?.reason == .refusedByOperator)
    }

    @Test(
        "no ownership dispute starts if the first player sent the token or got a refund, or the second sent no token")
    func undisputed() {
        var withToken = view(winnerToken: Sample.token)
        #expect(
            Sample.decision(.each([bound]), submission: owner).settle(in: &withToken).answer?.reason
                == .ownedByOtherPlayer)
        var refunded = view(winnerToken: nil)
        refunded.grants["1000"]?.isRevoked = true
        #expect(
            Sample.decision(.each([bound]), submission: owner).settle(in: &refunded).answer?.reason
                == .ownedByOtherPlayer)
        var tokenless = view(winnerToken: nil)
        let stranger = Sample.submission("second")
        #expect(
            Sample.decision(.each([bound]), submission: stranger).settle(in: &tokenless).answer?.reason
                == .ownedByOtherPlayer)
    }
}
