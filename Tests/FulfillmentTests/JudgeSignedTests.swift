import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("The judge on answers that leave out signed purchases")
struct JudgeSignedTests {
    private static let waits = Judgement.undecided(AppleAnswer.Trouble(.emptyAnswer))
    private static let dear: ProductID = "gold.2"

    private static func content(
        _ purchases: [StorePurchase], isComplete: Bool = true, environment: StoreEnvironment? = .production
    ) -> ProofContent {
        ProofContent(
            bundleID: Sample.bundle, environment: environment, purchases: purchases, isComplete: isComplete,
            signedAt: Sample.recordTime)
    }

    private func judge(
        _ answer: AppleAnswer, signing content: ProofContent?, _ signature: ParsedProof.Signature = .proven,
        submission: Submission = Sample.submission(), held: StoreTransactionID? = nil,
        besides further: FurtherAnswers = FurtherAnswers()
    ) -> Judgement {
        let app = Sample.app([
            Product(id: Sample.product, kind: .consumable), Product(id: Self.dear, kind: .consumable),
        ])
        return Judge(
            submission: submission, under: app.terms, recordTimestamp: Sample.recordTime, now: Sample.recordTime,
            signature: signature, signed: content, held: held
        ).judge(answer, besides: further) { _ in 99 }
    }

    static let emptyAnswers: [AppleAnswer] = [.genuine(Sample.receipt([])), .refused(.nothingTold)]

    @Test(
        "if Apple's answer omits signed purchases, the judge looks them up, and waits while Apple does not know one",
        arguments: emptyAnswers)
    func empty(answer: AppleAnswer) {
        let signed = Self.content([Sample.purchase("1"), Sample.purchase("2")])
        #expect(judge(answer, signing: signed) == .needs(.named(["1", "2"], in: .production)))
        var further = FurtherAnswers()
        further.note(.inLedger, named: "1")
        #expect(judge(answer, signing: signed, besides: further) == .needs(.named(["2"], in: .production)))
        further.note(.unknown, named: "2")
        #expect(judge(answer, signing: signed, besides: further) == Self.waits)
        further.forgetPassing()
        #expect(judge(answer, signing: signed, besides: further) == .needs(.named(["1", "2"], in: .production)))
        further.note(.inLedger, named: "1")
        var refunded = Sample.purchase("2")
        refunded.cancelledAt = Sample.recordTime
        further.note(.told(refunded), named: "2")
        guard case .decided(.each(let judged)) = judge(answer, signing: signed, besides: further) else {
            Issue.record("nothing is decided")
            return
        }
        #expect(judged.map(\.verdict) == [.grant(payload: nil), .reject(.cancelled)])
    }

    @Test("if a looked-up purchase is in the ledger, the receipt's cancellation date counts, except for a subscription")
    func upgraded() {
        var period = Sample.purchase("1")
        period.expiresAt = Sample.recordTime.adding(milliseconds: 1_000)
        period.cancelledAt = Sample.recordTime
        var refunded = Sample.purchase("2")
        refunded.cancelledAt = Sample.recordTime
        var further = FurtherAnswers()
        for id: StoreTransactionID in ["1", "2"] { further.note(.inLedger, named: id) }
        let signed = Self.content([period, refunded])
        guard case .decided(let verdict) = judge(.genuine(Sample.receipt([])), signing: signed, besides: further) else {
            Issue.record("nothing is decided")
            return
        }
        #expect(verdict.purchases.map(\.cancelledAt) == [nil, Sample.recordTime])
    }

    @Test("if Apple's answer lacks the submitted product, the judge looks up the product's signed purchase by its id")
    func product() {
        let signed = Self.content([Sample.purchase("1"), Sample.purchase("2", product: Self.dear)])
        let answer = AppleAnswer.genuine(Sample.receipt([Sample.purchase("1")]))
        let wanting = Sample.submission(productID: Self.dear)
        #expect(judge(answer, signing: signed, submission: wanting) == .needs(.named(["2"], in: .production)))
        // Without a wanted product, the judge judges only the purchases of Apple's answer.
        guard case .decided(.each(let judged)) = judge(answer, signing: signed) else {
            Issue.record("nothing is decided")
            return
        }
        #expect(judged.map(\.purchase.transactionID) == ["1"])
    }

    @Test(
        "if a purchase in Apple's answer has no readable id, the judge looks up the receipt's signed purchase by its id"
    )
    func namelessAnswer() {
        var answer = Sample.receipt([])
        answer.nameless = [NamelessPurchase(transactionID: "01", productID: "gold.1", field: "transaction_id")]
        let signed = Self.content([Sample.purchase("1")])
        #expect(judge(.genuine(answer), signing: signed) == .needs(.named(["1"], in: .production)))
        var further = FurtherAnswers()
        further.note(.unknown, named: "1")
        #expect(
            judge(.genuine(answer), signing: signed, besides: further)
                == .decided(.each(answer.nameless.map(\.rejected))))
        further = FurtherAnswers()
        further.note(.told(Sample.purchase("1")), named: "1")
        guard case .decided(.each(let judged)) = judge(.genuine(answer), signing: signed, besides: further) else {
            Issue.record("nothing is decided")
            return
        }
        #expect(judged.map(\.verdict) == [.reject(.malformedReceipt), .grant(payload: nil)])
    }

    @Test(
        "a proven receipt without purchases is rejected as no_purchase; an incomplete receipt stays undecided",
        arguments: emptyAnswers)
    func listsNone(answer: AppleAnswer) {
        #expect(judge(answer, signing: Self.content([])) == .decided(.whole(.noPurchase, [])))
        #expect(judge(answer, signing: Self.content([], isComplete: false)) == Self.waits)
        #expect(judge(answer, signing: nil) == Self.waits)
        let signed = Self.content([Sample.purchase("1")])
        #expect(judge(answer, signing: signed, .notProvable) == .decided(.whole(.noPurchase, [])))
    }

    @Test("if Apple gives status 21006 without a receipt, the judge rejects the signed purchases as expired")
    func expired() {
        let answer = AppleAnswer.refused(.expired)
        guard case .decided(.each(let judged)) = judge(answer, signing: Self.content([Sample.purchase("1")])) else {
            Issue.record("nothing is decided")
            return
        }
        #expect(judged.map(\.verdict) == [.reject(.subscriptionExpired)])
        #expect(judge(answer, signing: nil) == .decided(.whole(.subscriptionExpired, [])))
    }

    @Test("after Apple called a receipt genuine, a denying or empty answer leaves the submission undecided")
    func held() {
        for answer in Self.emptyAnswers + [.refused(.unknownTransaction), .refused(.invalidTransaction)] {
            #expect(judge(answer, signing: nil, .notProvable, held: "1") == Self.waits)
        }
        for refusal: AppleAnswer.Refusal in [.malformed, .unauthentic] {
            #expect(
                judge(.refused(refusal), signing: nil, .notProvable, held: "1")
                    == .undecided(AppleAnswer.Trouble(.status)))
        }
        #expect(
            judge(.refused(.accountNotFound), signing: nil, .notProvable, held: "1")
                == .decided(.whole(.accountNotFound, [])))
    }
}
