import Identifiers
import Timestamps

/// Applies the rules that Apple's answer, or a proof that is enough by itself, and the catalog decide.
/// `PurchaseRule.all` has those of a single purchase. Pure: the same arguments, the same judgement.
public struct Judge: Sendable {
    /// How often Apple is asked before an answer that it may change is believed.
    public static let triesInDoubt = 3
    /// The same for a transaction that neither environment knows: a fresh one may be unknown for a day.
    public static let triesForUnknownTransaction = 8

    public let submission: Submission
    private let terms: AppTerms
    /// The record's time, or now where that is in the future: expiry is judged at it, so that a redelivery cannot
    /// change the verdict, nor a sender's clock.
    public let recordTimestamp: Timestamp
    let now: Timestamp
    public let signature: ParsedProof.Signature
    /// What an operator has let pass: no hold is made for these.
    public let waived: Set<Reason>
    /// Nil where it was submitted.
    public let announced: AnnouncedTerms?
    /// A grant of it may have been told of, and be lost: that it was refunded is no verdict by itself then.
    let isDecidedAgain: Bool

    public init(
        submission: Submission, under terms: AppTerms, recordTimestamp: Timestamp, now: Timestamp,
        signature: ParsedProof.Signature, waived: Set<Reason> = [], announced: AnnouncedTerms? = nil,
        isDecidedAgain: Bool = false
    ) {
        self.submission = submission
        self.terms = terms
        self.recordTimestamp = min(recordTimestamp, now)
        self.now = now
        self.signature = signature
        self.waived = waived
        self.announced = announced
        self.isDecidedAgain = isDecidedAgain
    }

    var app: AppPolicy { terms.app }

    /// - Parameters:
    ///   - further: what came of further questions so far.
    ///   - doubts: how often this answer was given before, for this submission.
    public func judge(
        _ answer: AppleAnswer, besides further: FurtherAnswers = FurtherAnswers(), doubts: (Reason) -> Int
    ) -> Judgement {
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
        case .refused(.nothingTold) where signature == .proven: return .undecided(AppleAnswer.Trouble(.incomplete))
        case .refused(.nothingTold): return doubtful(.noPurchase)
        case .refused(.accountNotFound): return .decided(.whole(.accountNotFound, []))
        case .refused(.refusedForGood): return .decided(.whole(.refusedByApple, []))
        case .refused(.unknownTransaction): return doubtful(.transactionNotFound)
        case .refused(.invalidTransaction): return .decided(.whole(.transactionNotFound, []))
        case .genuine(let receipt):
            if let reason = reasonAgainst(receipt) { return .decided(.whole(reason, receipt.purchases)) }
            if receipt.purchases.isEmpty { return doubtful(.noPurchase) }
            let judgement = judge(receipt, besides: further)
            guard dependsOnExpiredStatus(judgement, receipt, further) else { return judgement }
            return doubts(.subscriptionExpired) + 1 >= Self.triesInDoubt ? judgement : .doubtful(.subscriptionExpired)
        }
    }

    /// Purchase by purchase, unless the product that was submitted is missing.
    private func judge(_ receipt: GenuineReceipt, besides further: FurtherAnswers) -> Judgement {
        var others: [StorePurchase] = []
        if let product = submission.productID, !receipt.purchases.contains(where: { $0.productID == product }) {
            if further.history == nil, let question = question(about: product, missingIn: receipt) {
                return .needs(question)
            }
            others = finishedEarly(product, missingIn: receipt, among: further.history ?? [])
            if others.isEmpty { return .decided(.whole(.productMismatch, receipt.purchases)) }
        }
        let completed = receipt.completed(by: further, adding: others)
        let judged = completed.purchases.map { self.judged($0, in: completed, besides: further) }
        // What came with the account's history was told just now.
        let told = Set(others.map(\.transactionID))
        let open = openRefunds(in: judged, besides: further).filter { !told.contains($0) }
        if !open.isEmpty { return .needs(.refunds(of: open, in: receipt.environment)) }
        if let question = question(aboutGraceIn: judged, of: completed, besides: further) { return .needs(question) }
        return .decided(.each(judged))
    }

    /// Whether only 21006 makes the difference: around an expiry Apple is known to say it wrongly for hours.
    private func dependsOnExpiredStatus(
        _ judgement: Judgement, _ receipt: GenuineReceipt, _ further: FurtherAnswers
    ) -> Bool {
        guard receipt.isExpiredSubscription else { return false }
        var running = receipt
        running.isExpiredSubscription = false
        return judge(running, besides: further) != judgement
    }

    static func tries(inDoubtOf reason: Reason) -> Int {
        reason == .transactionNotFound ? triesForUnknownTransaction : triesInDoubt
    }

    func reasonAgainst(_ receipt: GenuineReceipt) -> Reason? {
        if app.isForeign(receipt.bundleID, receipt.appAppleID, in: receipt.environment) { return .foreignApp }
        if receipt.environment == .sandbox, !app.sandbox.admits(submission.playerID) { return .sandboxNotAllowed }
        return nil
    }

    /// - Parameter exempt: rules that are not applied.
    func judged(
        _ told: StorePurchase, in receipt: GenuineReceipt, besides further: FurtherAnswers = FurtherAnswers(),
        but exempt: Set<Reason> = []
    ) -> JudgedPurchase {
        var purchase = told
        // Seats are no goods.
        if app.kind(of: purchase) == .autoRenewableSubscription { purchase.quantity = 1 }
        let product = app.products[purchase.productID]
        let facts = PurchaseRule.Facts(
            judge: self, purchase: purchase, product: product, receipt: receipt,
            accessEnd: accessEnd(of: purchase, in: receipt, besides: further))
        return JudgedPurchase(
            purchase: purchase, kind: product?.kind, verdict: verdict(on: facts, but: exempt),
            dailyLimit: isWaived(.dailyLimit) ? nil : product?.dailyLimit)
    }

    private func isWaived(_ reason: Reason) -> Bool {
        waived.contains(reason) || announced?.waives(reason) ?? false
    }

    private func verdict(on facts: PurchaseRule.Facts, but exempt: Set<Reason>) -> JudgedPurchase.Verdict {
        for rule in PurchaseRule.all {
            if exempt.contains(rule.reason) || announced?.waives(rule.reason) ?? false { continue }
            guard let verdict = rule.verdict(on: facts) else { continue }
            if isDecidedAgain, verdict == .reject(.cancelled) {
                let other = self.verdict(on: facts, but: exempt.union([.cancelled]))
                if case .grant = other { return other }
            }
            return verdict
        }
        return .grant(payload: facts.product?.payload)
    }
}
