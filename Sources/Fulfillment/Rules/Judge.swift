/// Applies the rules that Apple's answer, or a proof that is enough by itself, and the catalog decide.
/// `PurchaseRule.all` has those of a single purchase. Pure: the same arguments, the same judgement.
public struct Judge: Sendable {
    /// How often Apple is asked before an answer that it may change is believed.
    public static let triesInDoubt = 3
    /// The same for a transaction that neither environment knows: a fresh one may be unknown for a day.
    public static let triesForUnknownTransaction = 8

    public let submission: Submission
    public let app: AppPolicy
    /// The record's time, or now where that is in the future: expiry is judged at it, so that a redelivery cannot
    /// change the verdict, nor a sender's clock.
    public let recordTimestamp: Timestamp
    public let signature: ParsedProof.Signature
    /// What an operator has let pass: no hold is made for these.
    public let waived: Set<Reason>

    public init(
        submission: Submission, app: AppPolicy, recordTimestamp: Timestamp, now: Timestamp,
        signature: ParsedProof.Signature, waived: Set<Reason> = []
    ) {
        self.submission = submission
        self.app = app
        self.recordTimestamp = min(recordTimestamp, now)
        self.signature = signature
        self.waived = waived
    }

    /// - Parameter doubts: how often this answer was given before, for this submission.
    public func judge(_ answer: AppleAnswer, doubts: (Reason) -> Int) -> Judgement {
        func doubtful(_ reason: Reason) -> Judgement {
            doubts(reason) + 1 >= Self.tries(inDoubtOf: reason) ? .decided(.whole(reason, [])) : .doubtful(reason)
        }
        switch answer {
        case .trouble(let trouble): return .undecided(trouble)
        case .blocked(let blockage): return .blocked(blockage)
        case .refused(.malformed) where signature == .proven, .refused(.unauthentic) where signature == .proven:
            // A receipt whose signature we proved is no forgery: Apple is in trouble.
            return .undecided(AppleAnswer.Trouble(.status))
        case .refused(.malformed): return doubtful(.malformedReceipt)
        case .refused(.unauthentic): return .decided(.whole(.unauthenticReceipt, []))
        case .refused(.accountNotFound): return .decided(.whole(.accountNotFound, []))
        case .refused(.refusedForGood): return .decided(.whole(.refusedByApple, []))
        case .refused(.unknownTransaction): return doubtful(.transactionNotFound)
        case .refused(.invalidTransaction): return .decided(.whole(.transactionNotFound, []))
        case .genuine(let receipt):
            if let reason = reasonAgainst(receipt) { return .decided(.whole(reason, receipt.purchases)) }
            if receipt.purchases.isEmpty { return doubtful(.noPurchase) }
            if let product = submission.productID, !receipt.purchases.contains(where: { $0.productID == product }) {
                return .decided(.whole(.productMismatch, receipt.purchases))
            }
            return .decided(.each(receipt.purchases.map { judged($0, in: receipt) }))
        }
    }

    static func tries(inDoubtOf reason: Reason) -> Int {
        reason == .transactionNotFound ? triesForUnknownTransaction : triesInDoubt
    }

    func reasonAgainst(_ receipt: GenuineReceipt) -> Reason? {
        if app.isForeign(receipt.bundleID, receipt.appAppleID, in: receipt.environment) { return .foreignApp }
        if receipt.environment == .sandbox, !app.sandbox.admits(submission.playerID) { return .sandboxNotAllowed }
        return nil
    }

    func judged(_ purchase: StorePurchase, in receipt: GenuineReceipt) -> JudgedPurchase {
        let product = app.products[purchase.productID]
        let facts = PurchaseRule.Facts(judge: self, purchase: purchase, product: product, receipt: receipt)
        return JudgedPurchase(
            purchase: purchase, kind: product?.kind, verdict: verdict(on: facts),
            dailyLimit: waived.contains(.dailyLimit) ? nil : product?.dailyLimit)
    }

    private func verdict(on facts: PurchaseRule.Facts) -> JudgedPurchase.Verdict {
        for rule in PurchaseRule.all {
            if let verdict = rule.verdict(on: facts) { return verdict }
        }
        return .grant(payload: facts.product?.payload)
    }
}
