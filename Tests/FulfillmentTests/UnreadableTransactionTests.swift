import Encodings
import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("Purchases with unreadable fields")
struct UnreadableTransactionTests {
    private static let credentials = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "S")

    private static func purchase(_ id: StoreTransactionID = "1000", _ fields: String...) -> StorePurchase {
        var purchase = Sample.purchase(id)
        purchase.unreadable = fields
        return purchase
    }

    private static func app(withAPI: Bool = false) -> AppPolicy {
        var app = Sample.app()
        if withAPI { app.serverAPI = credentials }
        return app
    }

    private static func judge(
        _ receipt: GenuineReceipt, _ submission: Submission = Sample.submission(), under app: AppPolicy = app(),
        waived: Set<Reason> = [], besides further: FurtherAnswers = FurtherAnswers()
    ) -> Judgement {
        Judge(
            submission: submission, under: app.terms, recordTimestamp: Sample.recordTime, now: Sample.recordTime,
            signature: .notProvable, waived: waived
        ).judge(.genuine(receipt), besides: further) { _ in 0 }
    }

    private static func verdicts(_ judgement: Judgement) -> [JudgedPurchase.Verdict]? {
        guard case .decided(.each(let judged)) = judgement else { return nil }
        return judged.map(\.verdict)
    }

    private static func proof(_ purchase: StorePurchase) -> ParsedProof {
        ParsedProof(
            digest: Digest256(hashing: [1]), material: .signedTransaction("a.b.c"), signature: .proven,
            content: ProofContent(
                bundleID: Sample.bundle, environment: purchase.isUnreadable("environment") ? nil : .production,
                purchases: [purchase], signedAt: Sample.recordTime))
    }

    @Test("a proven JWS with unreadable fields is sufficient evidence only if the app has no API to look up the id")
    func signedTransaction() {
        for field in ["quantity", "environment", "signedDate", "expiresDate", "type"] {
            let proof = Self.proof(Self.purchase("1000", field))
            let evidence = proof.sufficientEvidence(for: Self.app(), now: Sample.recordTime)
            #expect(evidence?.purchases.map(\.unreadable) == [[field]], "\(field)")
            for verification in [AppPolicy.Verification.apple, .local] {
                var app = Self.app(withAPI: true)
                app.verification = verification
                #expect(proof.sufficientEvidence(for: app, now: Sample.recordTime) == nil)
                #expect(proof.question(for: app) == .transaction("1000", Self.credentials))
            }
        }
        // A sound and fresh proof is enough evidence.
        let sound = Self.proof(Self.purchase())
        #expect(sound.sufficientEvidence(for: Self.app(withAPI: true), now: Sample.recordTime) != nil)
    }

    @Test(
        "an unreadable transaction is held once Apple does not know it; if decided again, only at the eighth answer")
    func unknownToApple() {
        func judge(isDecidedAgain: Bool, doubts: Int) -> Judgement {
            Judge(
                submission: Sample.submission(proof: .signedTransaction("a.b.c")),
                under: Self.app(withAPI: true).terms, recordTimestamp: Sample.recordTime, now: Sample.recordTime,
                signature: .proven, signed: Self.proof(Self.purchase("1000", "quantity")).content,
                isDecidedAgain: isDecidedAgain
            ).judge(.refused(.unknownTransaction)) { _ in doubts }
        }
        let held: [JudgedPurchase.Verdict] = [.hold(.unreadableTransaction)]
        #expect(Self.verdicts(judge(isDecidedAgain: false, doubts: 0)) == held)
        #expect(judge(isDecidedAgain: true, doubts: 0) == .doubtful(.transactionNotFound))
        #expect(Self.verdicts(judge(isDecidedAgain: true, doubts: Judge.triesForUnknownTransaction - 1)) == held)
    }

    @Test("a held unreadable transaction stays held after an operator's release, until Apple gives a readable answer")
    func release() {
        let receipt = Sample.receipt([Self.purchase("1000", "quantity")])
        let held: [JudgedPurchase.Verdict] = [.hold(.unreadableTransaction)]
        #expect(Self.verdicts(Self.judge(receipt)) == held)
        #expect(Self.verdicts(Self.judge(receipt, waived: [.unreadableTransaction])) == held)
        let readable = Sample.receipt([Self.purchase()])
        #expect(
            Self.verdicts(Self.judge(readable, waived: [.unreadableTransaction])) == [.grant(payload: nil)])
    }

    @Test(
        "a purchase with an unreadable date or token is held as unreadable, not for before_cutover or binding_missing")
    func standIns() {
        var app = Self.app()
        app.cutover = Sample.purchaseTime
        var dated = Self.purchase("1000", "purchaseDate")
        dated.purchasedAt = Timestamp(milliseconds: 0)
        #expect(Self.verdicts(Self.judge(Sample.receipt([dated]), under: app)) == [.hold(.unreadableTransaction)])
        app = Self.app()
        app.accountToken = .require
        let submission = Sample.submission(token: Sample.token)
        let bound = Self.purchase("1000", "appAccountToken")
        #expect(
            Self.verdicts(Self.judge(Sample.receipt([bound]), submission, under: app))
                == [.hold(.unreadableTransaction)])
    }

    @Test(
        "an announced purchase with an unreadable date is held for its player, and does not count as before the cutover"
    )
    func announced() throws {
        var app = Self.app()
        app.announcements.missedPurchases = .grant
        app.cutover = Sample.purchaseTime
        var dated = Self.purchase("1000", "purchaseDate")
        dated.purchasedAt = Timestamp(milliseconds: 0)
        let told = try #require(
            AnnouncedPurchase(
                evidence: Sample.receipt([dated]), source: .notification, name: "n", toldAt: Sample.recordTime,
                isRenewal: false))
        let judged = LeasedAnnouncement(purchase: told, timesHeld: 0, lease: 0).judge(
            under: Catalog(version: 1, apps: [app]),
            AnnouncedOwnership(owner: "player-1", isLetIn: true, grantsSince: Sample.recordTime), at: Sample.recordTime)
        guard case .deliver(let decision) = judged, case .each(let purchases) = decision.verdict else {
            Issue.record("\(judged)")
            return
        }
        #expect(purchases.map(\.verdict) == [.hold(.unreadableTransaction)])
    }

    @Test("the judge looks up a receipt's unreadable purchase by id, and holds it if Apple gives no readable answer")
    func lookedUp() {
        let receipt = Sample.receipt([Self.purchase("1", "quantity"), Self.purchase("2")])
        let app = Self.app(withAPI: true)
        #expect(Self.judge(receipt, under: app) == .needs(.transactions(["1"], in: .production)))
        var further = FurtherAnswers()
        var told = Self.purchase("1")
        told.quantity = 3
        further.note(told, of: "1")
        guard case .decided(.each(let judged)) = Self.judge(receipt, under: app, besides: further) else {
            Issue.record("it is not decided")
            return
        }
        #expect(judged.map(\.purchase.quantity) == [3, 1])
        #expect(judged.map(\.verdict) == [.grant(payload: nil), .grant(payload: nil)])
        var unknown = FurtherAnswers()
        unknown.note(nil, of: "1")
        let left: [JudgedPurchase.Verdict] = [.hold(.unreadableTransaction), .grant(payload: nil)]
        #expect(Self.verdicts(Self.judge(receipt, under: app, besides: unknown)) == left)
        var again = FurtherAnswers()
        again.note(Self.purchase("1", "quantity"), of: "1")
        #expect(Self.verdicts(Self.judge(receipt, under: app, besides: again)) == left)
    }

    @Test("a refunded purchase with an unreadable share is held; if family sharing ended, it is rejected as cancelled")
    func unreadablePart() {
        var refunded = Self.purchase("1000", "revocationPercentage")
        refunded.cancelledAt = Sample.recordTime
        #expect(refunded.refunded == nil)
        #expect(Self.verdicts(Self.judge(Sample.receipt([refunded]))) == [.hold(.unreadableTransaction)])
        // The end of family sharing has no part, so the unreadable share does not matter.
        refunded.revocationType = "FAMILY_REVOKE"
        #expect(refunded.refunded?.reason == .revoke)
        #expect(Self.verdicts(Self.judge(Sample.receipt([refunded]))) == [.reject(.cancelled)])
        // A cancelled purchase that may be an upgrade counts as no refund.
        var upgraded = Self.purchase("1000", "isUpgraded")
        upgraded.cancelledAt = Sample.recordTime
        #expect(upgraded.refunded == nil)
    }

    @Test(
        "a purchase with an unreadable quantity is rejected as cancelled if refunded fully, and held if refunded partly"
    )
    func partOfUnreadableQuantity() {
        let cases: [(Int32?, JudgedPurchase.Verdict)] = [
            (nil, .reject(.cancelled)), (100_000, .reject(.cancelled)), (50_000, .hold(.unreadableTransaction)),
        ]
        for (milliPercent, verdict) in cases {
            var refunded = Self.purchase("1000", "quantity")
            refunded.cancelledAt = Sample.recordTime
            refunded.refundedMilliPercent = milliPercent
            #expect(Self.verdicts(Self.judge(Sample.receipt([refunded]))) == [verdict])
        }
    }

    @Test("a purchase without a readable id is listed as rejected, and the receipt's other purchases are granted")
    func nameless() throws {
        var receipt = Sample.receipt([Self.purchase("1000")])
        receipt.nameless = [
            NamelessPurchase(transactionID: "01000", productID: "gold.1", field: "transaction_id"),
            NamelessPurchase(transactionID: nil, productID: nil, field: "product_id"),
        ]
        guard case .decided(let verdict) = Self.judge(receipt) else {
            Issue.record("it is not decided")
            return
        }
        var view = LedgerView()
        let settlement = Sample.decision(verdict).settle(in: &view)
        #expect(settlement.grants.map(\.purchase.transactionID) == ["1000"])
        #expect(
            settlement.events.map(\.listed) == [
                [
                    "1000 granted -", "01000 rejected malformed_receipt", "unreadable rejected malformed_receipt",
                ]
            ])
        #expect(view.claims.keys.sorted() == ["1000"])
        #expect(!verdict.grantsAll)
    }

    @Test("if a receipt's only purchase has no readable id, the submission is rejected, and the event names the field")
    func onlyNameless() throws {
        var receipt = Sample.receipt([])
        receipt.nameless = [NamelessPurchase(transactionID: "01", productID: "gold.1", field: "transaction_id")]
        guard case .decided(let verdict) = Self.judge(receipt, Sample.submission(productID: "gold.1")) else {
            Issue.record("it is not decided")
            return
        }
        var view = LedgerView()
        let event = try #require(Sample.decision(verdict).settle(in: &view).events.first)
        #expect(event.kind == .rejected && event.reason == .malformedReceipt)
        #expect(
            event.member("detail")?.string?.hasSuffix("cannot read the fields that identify it: `transaction_id`.")
                == true)
        #expect(view.claims.isEmpty)
    }

    @Test("the event of a hold names the unreadable fields")
    func detail() throws {
        let receipt = Sample.receipt([Self.purchase("1000", "quantity", "type")])
        guard case .decided(let verdict) = Self.judge(receipt) else {
            Issue.record("it is not decided")
            return
        }
        var view = LedgerView()
        let event = try #require(Sample.decision(verdict).settle(in: &view).answer)
        #expect(event.kind == .held && event.reason == .unreadableTransaction)
        #expect(
            event.member("detail")?.string?.hasSuffix(
                "cannot read these fields, which decide about it: `quantity`, `type`.") == true)
    }

    @Test("receiptd keeps no answer with unreadable fields as evidence")
    func remembered() {
        let proof = ParsedProof(digest: Digest256(hashing: [1]), material: .receipt("MIIB"))
        var receipt = Sample.receipt([Self.purchase("1", "quantity"), Self.purchase("2")])
        let verdict = Verdict.each(receipt.purchases.map { Sample.judged($0, .consumable, .hold(.unknownProduct)) })
        #expect(proof.rememberedEvidence(receipt, after: verdict, of: Self.app()) == nil)
        receipt.purchases[0].unreadable = []
        #expect(proof.rememberedEvidence(receipt, after: verdict, of: Self.app()) != nil)
        receipt.nameless = [NamelessPurchase(transactionID: nil, productID: nil, field: "f")]
        #expect(proof.rememberedEvidence(receipt, after: verdict, of: Self.app()) == nil)
    }

    @Test("if Apple's signed answer has no readable id, the judge rejects even a proven proof after the first answer")
    func signedAnswer() {
        let judge = Judge(
            submission: Sample.submission(), under: Self.app().terms, recordTimestamp: Sample.recordTime,
            now: Sample.recordTime, signature: .proven)
        #expect(Self.verdicts(judge.judge(.refused(.unreadable)) { _ in 0 }) == [.reject(.malformedReceipt)])
    }
}
