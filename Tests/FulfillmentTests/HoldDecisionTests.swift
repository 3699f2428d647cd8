import Encodings
import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("The end of a hold")
struct HoldDecisionTests {
    private func hold(
        _ reason: Reason = .unknownProduct, waived: Set<Reason> = [], isDue: Bool = false,
        submission: Submission = Sample.submission(), purchase: StorePurchase? = Sample.purchase(),
        dailyCount: Int? = nil
    ) -> LeasedHold {
        LeasedHold(
            transactionID: "1000", originalTransactionID: "1000", productID: Sample.product, reason: reason,
            waived: waived, isReleased: isDue, isDue: isDue, submission: submission,
            identity: submission.identity(proof: Digest256(hashing: [])), position: Sample.position(),
            traceparent: nil, evidence: purchase.map { Sample.receipt([$0]) }, dailyCount: dailyCount, tries: 0,
            lease: 0)
    }

    private func settle(
        _ verdict: Verdict, _ hold: LeasedHold, in view: inout LedgerView
    ) -> HoldDecision.Settled {
        HoldDecision(
            hold, verdict: verdict, environment: .production, decidedAt: Sample.recordTime, catalogVersion: 2
        ).settle(in: &view)
    }

    @Test("if an operator releases a hold, its submission gets a grant event that lists only the held transaction")
    func granted() throws {
        let hold = hold(waived: [.unknownProduct])
        var view = LedgerView(
            claims: ["1000": LedgerView.Claim(player: "player-1")],
            holds: ["1000": ["player-1": LedgerView.Hold(reason: .unknownProduct)]])
        let settled = settle(
            .each([Sample.judged(Sample.purchase("999")), Sample.judged(Sample.purchase())]), hold, in: &view)
        guard case .granted(let grant) = settled else { return #expect(Bool(false), "\(settled)") }
        #expect(grant.event.eventID == OutcomeEvent.eventID(.granted, transaction: "1000", revision: 1))
        #expect(grant.event.listed == ["1000 granted -"])
        #expect(view.grants["1000"]?.submission == hold.identity)
        #expect(view.holds.isEmpty)
        // The same decision, applied again, grants nothing, because the transaction is granted already.
        #expect(settle(.each([Sample.judged(Sample.purchase())]), hold, in: &view).reason == .alreadyGranted)
    }

    @Test(
        "a subscription period that is still unreadable stays held after a release, even if its player has claimed it")
    func heldPeriod() throws {
        var purchase = Sample.purchase()
        purchase.webOrderLineItemID = "777"
        let judged = Sample.judged(purchase, .autoRenewableSubscription, .hold(.unreadableTransaction))
        let hold = hold(waived: [.unreadableTransaction])
        let decision = HoldDecision(
            hold, verdict: .each([judged]), environment: .production, decidedAt: Sample.recordTime, catalogVersion: 1)
        let period = try #require(decision.decision.period(of: judged))
        var view = LedgerView(
            claims: [
                "1000": LedgerView.Claim(player: "player-1"),
                period: LedgerView.Claim(player: "player-1", grantedTransaction: "1000"),
            ], holds: ["1000": ["player-1": LedgerView.Hold(reason: .unreadableTransaction)]])
        #expect(decision.settle(in: &view) == .held(.unreadableTransaction))
    }

    @Test(
        "if the held transaction or the whole submission is rejected, the event that ends the hold has its own event id"
    )
    func rejected() {
        let table: [(Verdict, Reason)] = [
            (.whole(.refusedByOperator, []), .refusedByOperator), (.whole(.sandboxNotAllowed, []), .sandboxNotAllowed),
            (.each([Sample.judged(Sample.purchase(), .consumable, .reject(.cancelled))]), .cancelled),
        ]
        for (verdict, reason) in table {
            var view = LedgerView()
            guard case .rejected(let event) = settle(verdict, hold(), in: &view) else { return #expect(Bool(false)) }
            #expect(event.kind == .rejected && event.reason == reason)
            #expect(event.listed == ["1000 rejected \(reason.rawValue)"])
            #expect(event.member("submission_id")?.string == "submission-1")
            #expect(
                event.eventID
                    == OutcomeEvent.eventID(
                        endOfHold: "1000", submission: hold().identity, position: Sample.position()))
            #expect(
                event.eventID
                    != OutcomeEvent.eventID(.rejected, submission: hold().identity, position: Sample.position()))
        }
    }

    @Test("the event that ends a hold has the cause's detail code, such as token_missing or repaired_blanks")
    func causes() throws {
        var theirs = Sample.purchase()
        theirs.appAccountToken = Sample.token
        let mismatch = Verdict.each([Sample.judged(theirs, .consumable, .reject(.bindingMismatch))])
        var view = LedgerView()
        let unboundEnd = HoldDecision(
            hold(), verdict: mismatch, environment: .production, decidedAt: Sample.recordTime, catalogVersion: 2,
            tokenUse: .signals)
        guard case .rejected(let unbound) = unboundEnd.settle(in: &view) else { return #expect(Bool(false)) }
        #expect(unbound.member("detail_code")?.string == "token_missing")
        let foreign = HoldDecision(
            hold(), verdict: .whole(.foreignApp, []), environment: .production, decidedAt: Sample.recordTime,
            catalogVersion: 2, cause: .otherApp)
        guard case .rejected(let other) = foreign.settle(in: &view) else { return #expect(Bool(false)) }
        #expect(other.member("detail_code")?.string == "other_app_apple_id")
        let repaired = HoldDecision(
            hold(waived: [.unknownProduct]), verdict: .each([Sample.judged(Sample.purchase())]),
            environment: .production, decidedAt: Sample.recordTime, catalogVersion: 2, repair: .repairedBlanks)
        guard case .granted(let grant) = repaired.settle(in: &view) else { return #expect(Bool(false)) }
        #expect(grant.event.member("detail_code")?.string == "repaired_blanks")
    }

    @Test(
        "a hold ends with a rejection if another player has the grant or claim, or if the hold's player has the grant")
    func ownership() {
        var granted = LedgerView(grants: [
            "1000": LedgerView.Grant(player: "player-2", submission: nil, isRevoked: false, event: nil)
        ])
        let verdict = Verdict.each([Sample.judged(Sample.purchase(), .nonConsumable)])
        #expect(settle(verdict, hold(), in: &granted).reason == .ownedByOtherPlayer)
        var claimed = LedgerView(claims: ["1000": LedgerView.Claim(player: "player-2")])
        #expect(settle(verdict, hold(), in: &claimed).reason == .ownedByOtherPlayer)
        var own = LedgerView(grants: [
            "1000": LedgerView.Grant(player: "player-1", submission: nil, isRevoked: false, event: nil)
        ])
        #expect(settle(verdict, hold(), in: &own).reason == .alreadyGranted)
    }

    @Test("a hold does not end if another rule holds the purchase, or if Apple's answer lacks the held transaction")
    func waitsOn() {
        var view = LedgerView()
        let retired = Verdict.each([Sample.judged(Sample.purchase(), .consumable, .hold(.retiredProduct))])
        #expect(settle(retired, hold(), in: &view) == .held(.retiredProduct))
        #expect(settle(.each([Sample.judged(Sample.purchase("7"))]), hold(), in: &view) == .notTold)
        let limited = JudgedPurchase(
            purchase: Sample.purchase(), kind: .consumable, verdict: .grant(payload: nil), dailyLimit: 0)
        #expect(settle(.each([limited]), hold(), in: &view) == .held(.dailyLimit))
        #expect(view.grants.isEmpty)
    }

    @Test("if Apple's new answer gives a held purchase another original, the claim on this original decides the hold")
    func anotherOriginal() {
        let verdict = Verdict.each([Sample.judged(Sample.purchase(original: "900"), .autoRenewableSubscription)])
        let own = LedgerView.Claim(player: "player-1")
        var free = LedgerView(claims: ["1000": own, "900": LedgerView.Claim(player: nil)])
        let settled = settle(verdict, hold(waived: [.unknownProduct]), in: &free)
        guard case .granted(let grant) = settled else { return #expect(Bool(false), "\(settled)") }
        #expect(grant.purchase.originalTransactionID == "900")
        #expect(free.claims["900"] == own && free.grants["1000"]?.player == "player-1")
        var theirs = LedgerView(claims: ["1000": own, "900": LedgerView.Claim(player: "player-2")])
        #expect(settle(verdict, hold(waived: [.unknownProduct]), in: &theirs).reason == .ownedByOtherPlayer)
    }

    @Test(
        "a disputed purchase stays held until an operator's release, then is rejected if another player has the grant")
    func dispute() {
        var purchase = Sample.purchase()
        purchase.appAccountToken = Sample.token
        let theirs = LedgerView.Grant(player: "player-2", submission: nil, isRevoked: false, event: nil)
        var view = LedgerView(grants: ["1000": theirs])
        let submission = Sample.submission(token: Sample.token)
        let verdict = Verdict.each([Sample.judged(purchase)])
        #expect(
            settle(verdict, hold(.ownershipDisputed, submission: submission), in: &view) == .held(.ownershipDisputed))
        let released = hold(.ownershipDisputed, waived: [.ownershipDisputed], submission: submission)
        #expect(settle(verdict, released, in: &view).reason == .ownedByOtherPlayer)
    }

    @Test(
        "if an operator waives a reason, the reason no longer holds the purchase, and every other reason still does")
    func waived() {
        var retired = Product(id: Sample.product, kind: .consumable)
        retired.isRetired = true
        var purchase = Sample.purchase()
        purchase.currency = "EUR"
        func app(_ change: (inout AppPolicy) -> Void) -> AppPolicy {
            var app = Sample.app()
            change(&app)
            return app
        }
        let table: [(Reason, AppPolicy)] = [
            (.unknownProduct, Sample.app([])), (.retiredProduct, Sample.app([retired])),
            (.currencyNotAllowed, app { $0.currencies = ["CNY"] }),
            (.beforeCutover, app { $0.cutover = Sample.recordTime }),
            (.bindingMissing, app { $0.accountToken = .require }),
        ]
        for (reason, app) in table {
            for other in table.map(\.0) {
                let judge = Judge(
                    submission: Sample.submission(token: Sample.token), under: app.terms,
                    recordTimestamp: Sample.recordTime, now: Sample.recordTime, signature: .notProvable, waived: [other]
                )
                let verdict = judge.judged(purchase, in: Sample.receipt([purchase])).verdict
                #expect(verdict == (other == reason ? .grant(payload: nil) : .hold(reason)), "\(reason) \(other)")
            }
        }
    }

    @Test("after a catalog import, the worker asks Apple only about those holds that the new catalog may end")
    func outlook() {
        func catalog(_ products: [Product]) -> Catalog { Catalog(version: 2, apps: [Sample.app(products)]) }
        let known = Product(id: Sample.product, kind: .consumable)
        var limited = known
        limited.dailyLimit = 3
        var refused = known
        refused.isRetired = true
        refused.onRetired = .reject
        #expect(hold().outlook(under: catalog([known]), now: Sample.recordTime) == .mayEnd)
        #expect(hold().outlook(under: catalog([refused]), now: Sample.recordTime) == .mayEnd)
        #expect(hold().outlook(under: catalog([]), now: Sample.recordTime) == .stays(.unknownProduct))
        #expect(hold(.retiredProduct).outlook(under: catalog([]), now: Sample.recordTime) == .stays(.unknownProduct))
        #expect(hold(isDue: true).outlook(under: catalog([]), now: Sample.recordTime) == .mayEnd)
        #expect(hold(purchase: nil).outlook(under: catalog([]), now: Sample.recordTime) == .mayEnd)
        #expect(hold().outlook(under: Catalog(version: 2, apps: []), now: Sample.recordTime) == .stays(.unknownProduct))
        #expect(
            hold(.ownershipDisputed).outlook(under: catalog([known]), now: Sample.recordTime)
                == .stays(.ownershipDisputed))
        #expect(
            hold(.dailyLimit, dailyCount: 3).outlook(under: catalog([limited]), now: Sample.recordTime)
                == .stays(.dailyLimit))
        #expect(hold(.dailyLimit, dailyCount: 2).outlook(under: catalog([limited]), now: Sample.recordTime) == .mayEnd)
        #expect(hold(.dailyLimit, dailyCount: 3).outlook(under: catalog([known]), now: Sample.recordTime) == .mayEnd)
    }

    @Test("if a hold ends with a grant, the grant event has the hold's risk signals")
    func signals() {
        let submission = Sample.submission()
        let hold = LeasedHold(
            transactionID: "1000", originalTransactionID: "1000", productID: Sample.product, reason: .unknownProduct,
            waived: [.unknownProduct], isReleased: true, isDue: true, submission: submission,
            identity: submission.identity(proof: Digest256(hashing: [])), position: Sample.position(),
            traceparent: nil, evidence: nil, dailyCount: nil, tries: 0, lease: 0,
            risk: [.sharedDevice, .smallPurchases])
        var view = LedgerView()
        guard case .granted(let grant) = settle(.each([Sample.judged(Sample.purchase())]), hold, in: &view) else {
            Issue.record("it was not granted")
            return
        }
        #expect(grant.event.risk == [.sharedDevice, .smallPurchases])
        #expect(grant.event.member("risk")?.array?.compactMap(\.string) == ["shared_device", "small_purchases"])
    }

    @Test("a purchase held because of another player's account token is granted only if an operator waives the dispute")
    func disputedToken() {
        let submission = Sample.submission(token: Sample.token)
        var purchase = Sample.purchase()
        purchase.appAccountToken = Sample.token
        for (waived, isGranted) in [([], false), ([Reason.ownershipDisputed], true)] as [(Set<Reason>, Bool)] {
            var view = LedgerView(claims: ["1000": LedgerView.Claim(player: nil)])
            let key = AccountTokenKey(bundleID: Sample.bundle, token: Sample.token)
            view.tokens[key] = AccountTokenFacts(learntOf: "buyer", senders: ["buyer"])
            let decision = HoldDecision(
                hold(.ownershipDisputed, waived: waived, isDue: true, submission: submission, purchase: purchase),
                verdict: .each([Sample.judged(purchase)]), environment: .production, decidedAt: Sample.recordTime,
                catalogVersion: 2, tokenUse: .holds)
            switch decision.settle(in: &view) {
            case .granted: #expect(isGranted && view.claims["1000"]?.player == "player-1")
            case .held(.ownershipDisputed): #expect(!isGranted && view.claims["1000"]?.player == nil)
            case let other: Issue.record("\(other)")
            }
        }
    }
}

extension HoldDecision.Settled {
    fileprivate var reason: Reason? {
        if case .rejected(let event) = self { event.reason } else { nil }
    }
}
