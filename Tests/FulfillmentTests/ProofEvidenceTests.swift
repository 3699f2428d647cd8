import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("The evidence in a proof")
struct ProofEvidenceTests {
    private static let digest = Digest256(hashing: [1])

    private func receipt(
        _ content: ProofContent?, _ signature: ParsedProof.Signature = .proven
    ) -> ParsedProof {
        ParsedProof(digest: Self.digest, material: .receipt("MIIB"), signature: signature, content: content)
    }

    private func isEnough(_ proof: ParsedProof, _ verification: AppPolicy.Verification = .local) -> Bool {
        var app = Sample.app()
        app.verification = verification
        return proof.sufficientEvidence(for: app, now: Sample.recordTime) != nil
    }

    @Test("a proven receipt is sufficient evidence under `verification: local`, but not under `verification: apple`")
    func local() {
        var content = Sample.content(purchases: [Sample.purchase("2", after: 1), Sample.purchase("1")])
        content.appAppleID = 7
        content.holdsAutoRenewable = true
        var app = Sample.app()
        app.verification = .local
        let expected = GenuineReceipt(
            bundleID: Sample.bundle, appAppleID: 7, environment: .production,
            purchases: [Sample.purchase("1"), Sample.purchase("2", after: 1)], holdsAutoRenewable: true,
            createdAt: Sample.purchaseTime)
        #expect(receipt(content).sufficientEvidence(for: app, now: Sample.recordTime) == expected)
        #expect(!isEnough(receipt(content), .apple))
    }

    @Test(
        "a proof that is unproven, forged, incomplete, empty, or without app or environment is not sufficient evidence"
    )
    func asksApple() {
        #expect(!isEnough(receipt(Sample.content(), .notProvable)))
        #expect(!isEnough(receipt(Sample.content(), .forged)))
        #expect(!isEnough(receipt(nil)))
        #expect(!isEnough(receipt(Sample.content(environment: nil))))
        #expect(!isEnough(receipt(Sample.content(bundle: nil))))
        #expect(!isEnough(receipt(Sample.content(purchases: []))))
        var unread = Sample.content()
        unread.isComplete = false
        #expect(!isEnough(receipt(unread)))
    }

    @Test("receiptd keeps Apple's answer as evidence only if the answer is final and has more facts than the proof")
    func remembered() {
        var app = Sample.app()
        let purchase = Sample.purchase("1")
        let granted = Verdict.each([
            JudgedPurchase(purchase: purchase, kind: .consumable, verdict: .grant(payload: nil))
        ]
        )
        let held = Verdict.each(
            [JudgedPurchase(purchase: purchase, kind: .consumable, verdict: .hold(.unknownProduct))])
        let told = GenuineReceipt(bundleID: Sample.bundle, environment: .production, purchases: [purchase])
        let unproven = receipt(nil, .notProvable)
        #expect(unproven.rememberedEvidence(told, after: granted, of: app) == told)
        #expect(unproven.rememberedEvidence(told, after: held, of: app) == told)
        #expect(
            receipt(Sample.content(purchases: [purchase])).rememberedEvidence(told, after: granted, of: app) == nil)
        let listsTwo = receipt(Sample.content(purchases: [purchase, Sample.purchase("2")]))
        #expect(listsTwo.rememberedEvidence(told, after: granted, of: app) == nil)
        var renewable = told
        renewable.holdsAutoRenewable = true
        #expect(unproven.rememberedEvidence(renewable, after: granted, of: app) == nil)
        var empty = told
        empty.purchases = []
        #expect(unproven.rememberedEvidence(empty, after: .whole(.noPurchase, []), of: app) == nil)
        // Until the ledger grants a transaction, the worker asks Apple again, because Apple may refund the transaction
        // meanwhile.
        app.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "S")
        let id = ParsedProof(digest: Self.digest, material: .transactionID("1"))
        #expect(id.rememberedEvidence(told, after: granted, of: app) == told)
        #expect(id.rememberedEvidence(told, after: held, of: app) == nil)
        #expect(id.rememberedEvidence(told, after: .whole(.foreignApp, [purchase]), of: app) == nil)
    }

    @Test(
        "the ledger need not keep Apple's answer if a proven receipt itself has all purchases and facts of the answer")
    func recalledByItself() {
        let one = receipt(Sample.content(purchases: [Sample.purchase("1")]))
        let both = receipt(Sample.content(purchases: [Sample.purchase("1"), Sample.purchase("2", after: 1)]))
        func answer(_ purchases: [StorePurchase]) -> GenuineReceipt {
            GenuineReceipt(bundleID: Sample.bundle, environment: .production, purchases: purchases)
        }
        let first = answer([Sample.purchase("1")])
        // Apple's times may differ from the receipt's times, and so may the order.
        let swapped = answer([Sample.purchase("1", after: 2), Sample.purchase("2")])
        #expect(one.recalls(first) && both.recalls(swapped))
        #expect(!one.recalls(swapped) && !both.recalls(first))
        #expect(!one.recalls(answer([Sample.purchase("3")])) && !one.recalls(answer([])))
        #expect(!both.recalls(answer([Sample.purchase("1"), Sample.purchase("3")])))
        #expect(!receipt(Sample.content(purchases: [Sample.purchase("1")]), .notProvable).recalls(first))
        // A receipt cannot hold these facts, and rules may use them.
        let more: [(inout StorePurchase) -> Void] = [
            { $0.appAccountToken = "t" }, { $0.appTransactionID = "a" }, { $0.cancelledAt = Sample.recordTime },
            { $0.ownership = .familyShared }, { $0.quantity = 2 }, { $0.expiresAt = Sample.recordTime },
        ]
        for change in more {
            var purchase = Sample.purchase("1")
            change(&purchase)
            #expect(!one.recalls(answer([purchase])))
        }
        var sandbox = first
        sandbox.environment = .sandbox
        #expect(!one.recalls(sandbox))
        var subscription = Sample.content(purchases: [Sample.purchase("1")])
        subscription.holdsAutoRenewable = true
        #expect(!receipt(subscription).recalls(first))
    }

    @Test("the worker asks Apple about a receipt always, and about a transaction only if the app has API credentials")
    func questions() {
        var app = Sample.app()
        app.sharedSecretSetting = "SECRET"
        let jws = ParsedProof(
            digest: Self.digest, material: .signedTransaction("a.b.c"),
            content: Sample.content(purchases: [Sample.purchase("7")]))
        let bare = ParsedProof(digest: Self.digest, material: .transactionID("8"))
        #expect(receipt(nil).question(for: app) == .receipt("MIIB", sharedSecretSetting: "SECRET"))
        #expect(jws.question(for: app) == nil && bare.question(for: app) == nil)
        let credentials = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "S")
        app.serverAPI = credentials
        #expect(receipt(nil).question(for: app) == .receipt("MIIB", sharedSecretSetting: "SECRET"))
        #expect(jws.question(for: app) == .transaction("7", credentials))
        #expect(bare.question(for: app) == .transaction("8", credentials))
    }

    @Test("a bare transaction id is never sufficient evidence")
    func transactionID() {
        let proof = ParsedProof(
            digest: Self.digest, material: .transactionID("1"), signature: .proven, content: Sample.content())
        #expect(!isEnough(proof))
    }

    @Test("the ledger alone decides only a proven, complete receipt of 1 to 500 purchases without a subscription")
    func recall() {
        #expect(receipt(Sample.content()).recallableEvidence?.purchases == [Sample.purchase()])
        var renewable = Sample.content()
        renewable.holdsAutoRenewable = true
        #expect(receipt(renewable).recallableEvidence == nil)
        var unread = Sample.content()
        unread.isComplete = false
        #expect(receipt(unread).recallableEvidence == nil)
        #expect(receipt(Sample.content(purchases: [])).recallableEvidence == nil)
        #expect(receipt(Sample.content(), .notProvable).recallableEvidence == nil)
        let many = (0...ParsedProof.maximumRecalledPurchases).map { Sample.purchase(Identifier("\($0)")) }
        #expect(receipt(Sample.content(purchases: many)).recallableEvidence == nil)
        #expect(receipt(Sample.content(purchases: Array(many.dropLast()))).recallableEvidence != nil)
    }

    @Test("a proof is proven for an app only if Apple signed the proof for the app's bundle id")
    func provenOfApp() {
        #expect(receipt(Sample.content()).isProven(of: Sample.bundle))
        #expect(!receipt(Sample.content()).isProven(of: "com.example.other"))
        #expect(!receipt(Sample.content(), .notProvable).isProven(of: Sample.bundle))
        #expect(!receipt(Sample.content(bundle: nil)).isProven(of: Sample.bundle))
    }
}
