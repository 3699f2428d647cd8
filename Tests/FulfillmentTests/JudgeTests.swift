import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("The judge on a receipt as a whole")
struct JudgeTests {
    private func judge(
        _ answer: AppleAnswer, _ submission: Submission = Sample.submission(), app: AppPolicy = Sample.app(),
        signature: ParsedProof.Signature = .notProvable, doubts: Int = 0
    ) -> Judgement {
        Judge(
            submission: submission, under: app.terms, recordTimestamp: Sample.recordTime, now: Sample.recordTime,
            signature: signature
        )
        .judge(answer) { _ in doubts }
    }

    @Test(
        "after any number of tries, trouble at Apple leaves a submission undecided; wrong settings leave it blocked",
        arguments: AppleAnswer.TroubleKind.allCases)
    func trouble(kind: AppleAnswer.TroubleKind) {
        let trouble = AppleAnswer.Trouble(kind, retryNotBefore: Sample.recordTime)
        #expect(judge(.trouble(trouble), doubts: 99) == .undecided(trouble))
        for blockage: AppleAnswer.Blockage in [.sharedSecret, .request, .noServerAPI, .serverAPI] {
            #expect(judge(.blocked(blockage), doubts: 99) == .blocked(blockage))
        }
    }

    @Test("the judge believes status 21003, status 21010 and a final refusal at the first answer")
    func refusals() {
        let table: [(AppleAnswer.Refusal, Reason)] = [
            (.unauthentic, .unauthenticReceipt), (.accountNotFound, .accountNotFound),
            (.refusedForGood, .refusedByApple),
        ]
        for (refusal, reason) in table { #expect(judge(.refused(refusal)) == .decided(.whole(reason, []))) }
    }

    @Test("only at the third answer does the judge believe status 21002, an empty receipt, or 21006 without a receipt")
    func doubt() {
        for (answer, reason) in [
            (AppleAnswer.refused(.malformed), Reason.malformedReceipt), (.genuine(Sample.receipt([])), .noPurchase),
            (.refused(.nothingTold), .noPurchase), (.refused(.expired), .subscriptionExpired),
        ] {
            #expect(judge(answer, doubts: 0) == .doubtful(reason))
            #expect(judge(answer, doubts: 1) == .doubtful(reason))
            #expect(judge(answer, doubts: 2) == .decided(.whole(reason, [])))
            #expect(judge(answer, doubts: 3) == .decided(.whole(reason, [])))
        }
    }

    @Test("the judge believes status 21006 with a receipt only at the third answer")
    func expiredStatus() {
        var receipt = Sample.receipt()
        receipt.isExpiredSubscription = true
        #expect(judge(.genuine(receipt), doubts: 1) == .doubtful(.subscriptionExpired))
        let expired = JudgedPurchase(
            purchase: Sample.purchase(), kind: .consumable, verdict: .reject(.subscriptionExpired))
        #expect(judge(.genuine(receipt), doubts: 2) == .decided(.each([expired])))
    }

    @Test("the judge believes the eighth answer that a transaction id is unknown, and the first that an id is invalid")
    func unknownTransaction() {
        for doubts in 0..<7 {
            #expect(judge(.refused(.unknownTransaction), doubts: doubts) == .doubtful(.transactionNotFound))
        }
        let notFound = Judgement.decided(.whole(.transactionNotFound, []))
        #expect(judge(.refused(.unknownTransaction), doubts: 7) == notFound)
        #expect(judge(.refused(.invalidTransaction), doubts: 0) == notFound)
    }

    @Test("the judge counts doubtful answers separately for each reason")
    func doubtsByReason() {
        let judge = Judge(
            submission: Sample.submission(), under: Sample.app().terms, recordTimestamp: Sample.recordTime,
            now: Sample.recordTime,
            signature: .notProvable)
        let noPurchaseTwice: (Reason) -> Int = { $0 == .noPurchase ? 2 : 0 }
        #expect(judge.judge(.refused(.malformed), doubts: noPurchaseTwice) == .doubtful(.malformedReceipt))
        #expect(judge.judge(.genuine(Sample.receipt([])), doubts: noPurchaseTwice) == .decided(.whole(.noPurchase, [])))
    }

    @Test("if a proof is proven, a denying or empty answer counts as trouble at Apple; other refusals are believed")
    func provenSignature() {
        for refusal: AppleAnswer.Refusal in [.malformed, .unauthentic] {
            #expect(
                judge(.refused(refusal), signature: .proven, doubts: 99) == .undecided(AppleAnswer.Trouble(.status)))
        }
        for refusal: AppleAnswer.Refusal in [.nothingTold, .unknownTransaction, .invalidTransaction] {
            #expect(
                judge(.refused(refusal), signature: .proven, doubts: 99)
                    == .undecided(AppleAnswer.Trouble(.emptyAnswer)))
        }
        #expect(judge(.refused(.accountNotFound), signature: .proven) == .decided(.whole(.accountNotFound, [])))
        #expect(judge(.refused(.refusedForGood), signature: .proven) == .decided(.whole(.refusedByApple, [])))
    }

    @Test(
        "a bundle id that differs in any byte makes the receipt foreign",
        arguments: ["com.example.other", "com.example.Game", ""])
    func foreignBundle(bundle: BundleID) {
        var receipt = Sample.receipt()
        receipt.bundleID = bundle
        #expect(judge(.genuine(receipt)) == .decided(.whole(.foreignApp, receipt.purchases)))
    }

    static let appIDs: [(Int64?, Int64?, StoreEnvironment, Bool)] = [
        (1, 1, .production, false), (1, 2, .production, true), (1, 0, .production, false), (1, nil, .production, false),
        (nil, 2, .production, false), (1, 2, .sandbox, false), (1, 0, .sandbox, false),
    ]

    @Test(
        "a receipt with another nonzero Apple app id is foreign in Production, but not in the sandbox",
        arguments: appIDs)
    func appID(ours: Int64?, told: Int64?, environment: StoreEnvironment, isForeign: Bool) {
        var app = Sample.app()
        app.appAppleID = ours
        app.sandbox = .accept
        var receipt = Sample.receipt(environment: environment)
        receipt.appAppleID = told
        let isRefused = judge(.genuine(receipt), app: app) == .decided(.whole(.foreignApp, receipt.purchases))
        #expect(isRefused == isForeign)
        #expect(app.foreignness(of: receipt) == (isForeign ? .otherApp : nil))
        receipt.bundleID = "com.example.other"
        #expect(app.foreignness(of: receipt) == .otherBundle)
    }

    static let sandboxes: [(AppPolicy.SandboxPolicy, Bool)] = [
        (.reject, false), (.accept, true), (.allowlist(["player-1", "x"]), true), (.allowlist(["x"]), false),
        (.allowlist(["Player-1"]), false), (.allowlist([]), false),
    ]

    @Test(
        "the judge admits a sandbox receipt only if the policy allows the player, and admits every Production receipt",
        arguments: sandboxes)
    func sandbox(policy: AppPolicy.SandboxPolicy, isAdmitted: Bool) {
        var app = Sample.app()
        app.sandbox = policy
        let receipt = Sample.receipt(environment: .sandbox)
        let isRefused = judge(.genuine(receipt), app: app) == .decided(.whole(.sandboxNotAllowed, receipt.purchases))
        #expect(isRefused != isAdmitted)
        guard case .decided(.each) = judge(.genuine(Sample.receipt()), app: app) else {
            Issue.record("a receipt of Production is refused")
            return
        }
    }

    @Test("a submission whose product is not in the receipt is rejected as product_mismatch")
    func productMismatch() {
        let receipt = Sample.receipt([Sample.purchase("1"), Sample.purchase("2", product: "gold.2", after: 1)])
        #expect(
            judge(.genuine(receipt), Sample.submission(productID: "gold.3"))
                == .decided(.whole(.productMismatch, receipt.purchases)))
        for product in ["gold.1", "gold.2"] as [ProductID] {
            guard case .decided(.each(let judged)) = judge(.genuine(receipt), Sample.submission(productID: product))
            else {
                Issue.record("\(product) is refused")
                continue
            }
            #expect(judged.map(\.purchase) == receipt.purchases)
        }
    }

    @Test("if two rules reject the whole receipt, the judge gives the reason that comes first in the contract's order")
    func precedence() {
        var app = Sample.app()
        app.appAppleID = 1
        let mismatched = Sample.submission(productID: "gold.3")
        var receipt = GenuineReceipt(bundleID: "com.example.other", appAppleID: 2, environment: .sandbox, purchases: [])
        #expect(judge(.genuine(receipt), mismatched, app: app, doubts: 2) == .decided(.whole(.foreignApp, [])))
        receipt.bundleID = Sample.bundle
        #expect(judge(.genuine(receipt), mismatched, app: app, doubts: 2) == .decided(.whole(.sandboxNotAllowed, [])))
        app.sandbox = .accept
        #expect(judge(.genuine(receipt), mismatched, app: app, doubts: 2) == .decided(.whole(.noPurchase, [])))
        receipt.purchases = [Sample.purchase()]
        #expect(
            judge(.genuine(receipt), mismatched, app: app) == .decided(.whole(.productMismatch, receipt.purchases)))
    }

    @Test("a genuine receipt lists each transaction id once, ordered by purchase time, then by the bytes of the id")
    func purchaseOrder() {
        let purchases = ["9", "10", "a", "A"].map { Sample.purchase(StoreTransactionID($0)) }
        let later = Sample.purchase("0", after: 1)
        let earlier = Sample.purchase("z", after: -1)
        let receipt = Sample.receipt([later] + purchases + [earlier] + purchases)
        #expect(receipt.purchases.map(\.transactionID) == ["z", "10", "9", "A", "a", "0"])
    }
}
