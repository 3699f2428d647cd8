import NamesAndTimes

/// Applies the rules to Apple's answer, or to a proof that is enough without Apple's answer. `PurchaseRule.all` has the
/// rules for a single purchase. The judge is pure: equal arguments give equal judgements.
public struct Judge: Sendable {
    /// Apple is known to change some answers. A worker asks Apple this many times before it believes such an answer.
    public static let triesInDoubt = 3
    /// The number of times that a worker asks Apple before it believes that neither environment knows a transaction. A
    /// fresh transaction may be unknown for a day.
    public static let triesForUnknownTransaction = 8

    public let submission: Submission
    private let terms: AppTerms
    /// The time with which the rules compare the end of a period.
    let recordTime: RecordTime
    let now: Timestamp
    public let signature: ParsedProof.Signature
    /// The content of a proven proof; nil if the proof is not proven, or if receiptd can read no content.
    let signed: ProofContent?
    /// The held transaction that the worker judges again; nil if there is no hold. Apple called the proof genuine
    /// before the hold. Further questions are about this transaction only.
    let held: StoreTransactionID?
    /// The reasons that an operator waived. A rule with the effect `hold` does not hold a purchase for a waived reason.
    public let waived: Set<Reason>
    /// The terms of an announced purchase that nobody submitted; nil for a submitted purchase.
    public let announced: AnnouncedTerms?
    /// True if a worker may have published a grant of the purchase, and PostgreSQL has lost the grant. Then a refund or
    /// an upgrade does not reject a purchase that the other rules grant.
    let isDecidedAgain: Bool

    /// - Parameters:
    ///   - recordTimestamp: the record's time, or the time at which Apple announced the purchase.
    ///   - takenAt: the time of the first try or of the hold; nil at the first judgement.
    public init(
        submission: Submission, under terms: AppTerms, recordTimestamp: Timestamp, takenAt: Timestamp? = nil,
        now: Timestamp,
        signature: ParsedProof.Signature, signed: ProofContent? = nil, held: StoreTransactionID? = nil,
        waived: Set<Reason> = [], announced: AnnouncedTerms? = nil,
        isDecidedAgain: Bool = false
    ) {
        self.submission = submission
        self.terms = terms
        recordTime = RecordTime(recordTimestamp, takenAt: takenAt, now: now)
        self.now = now
        self.signature = signature
        self.signed = signature == .proven ? signed : nil
        self.held = held
        self.waived = waived
        self.announced = announced
        self.isDecidedAgain = isDecidedAgain
    }

    var app: AppPolicy { terms.app }

    /// Returns whether the judge decides about the transaction. If there is a hold, the judge decides only about the
    /// held transaction.
    func decides(_ transaction: StoreTransactionID) -> Bool { held.map { $0 == transaction } ?? true }

    /// Returns the judgement of the rules for Apple's answer.
    /// - Parameters:
    ///   - further: the answers to further questions so far.
    ///   - doubts: a function that returns how many of Apple's earlier answers to this submission gave the reason.
    public func judge(
        _ answer: AppleAnswer, besides further: FurtherAnswers = FurtherAnswers(), doubts: (Reason) -> Int
    ) -> Judgement {
        func doubtful(_ reason: Reason) -> Judgement {
            doubts(reason) + 1 >= Self.tries(inDoubtOf: reason) ? .decided(.whole(reason, [])) : .doubtful(reason)
        }
        switch answer {
        case .trouble(let trouble): return .undecided(trouble)
        case .blocked(let blockage): return .blocked(blockage)
        case .refused(.malformed) where isApples, .refused(.unauthentic) where isApples:
            // Apple signed this proof, or called it genuine before. So the refusal is a failure of Apple's.
            return .undecided(AppleAnswer.Trouble(.status))
        case .refused(.malformed): return doubtful(.malformedReceipt)
        case .refused(.unauthentic): return .decided(.whole(.unauthenticReceipt, []))
        case .refused(.nothingTold) where isApples:
            if let empty = emptyAnswer { return judge(.genuine(empty), besides: further, doubts: doubts) }
            return listsNothing ? doubtful(.noPurchase) : .undecided(AppleAnswer.Trouble(.emptyAnswer))
        case .refused(.nothingTold): return doubtful(.noPurchase)
        case .refused(.expired):
            // If a product has `late_periods: grant`, the expired period may be one that a worker must grant. Apple's
            // answer does not say which period expired, so it cannot decide.
            if app.products.values.contains(where: \.grantsLatePeriods) { return .undecided(.init(.incomplete)) }
            let judgement = doubtful(.subscriptionExpired)
            guard case .decided = judgement, var receipt = signed?.asReceipt, !receipt.purchases.isEmpty else {
                return judgement
            }
            receipt.isExpiredSubscription = true
            return judge(receipt, besides: further)
        case .refused(.accountNotFound): return .decided(.whole(.accountNotFound, []))
        case .refused(.refusedForGood): return .decided(.whole(.refusedByApple, []))
        case .refused(.unknownTransaction) where isApples, .refused(.invalidTransaction) where isApples:
            // Apple signed this id. If receiptd cannot read the transaction's other facts, and Apple does not give
            // them, an operator decides.
            guard let unreadable = unreadableSigned else { return .undecided(AppleAnswer.Trouble(.emptyAnswer)) }
            // A worker may have published a grant of the purchase while Apple still gave the facts. So the worker asks
            // Apple several times before it holds the purchase.
            if isDecidedAgain, doubts(.transactionNotFound) + 1 < Self.triesForUnknownTransaction {
                return .doubtful(.transactionNotFound)
            }
            return judge(.genuine(unreadable), besides: further, doubts: doubts)
        case .refused(.unknownTransaction): return doubtful(.transactionNotFound)
        case .refused(.invalidTransaction): return .decided(.whole(.transactionNotFound, []))
        case .refused(.unreadable): return .decided(.each([NamelessPurchase.ofSignedAnswer.rejected]))
        case .genuine(let told):
            if let reason = reasonAgainst(told) { return .decided(.whole(reason, told.purchases)) }
            let receipt: GenuineReceipt
            switch withSigned(told, besides: further) {
            case .told(let whole): receipt = whole
            case .open(let judgement): return judgement
            }
            if receipt.purchases.isEmpty, receipt.nameless.isEmpty { return doubtful(.noPurchase) }
            let judgement = judge(receipt, besides: further)
            guard dependsOnExpiredStatus(judgement, receipt, further) else { return judgement }
            return doubts(.subscriptionExpired) + 1 >= Self.triesInDoubt ? judgement : .doubtful(.subscriptionExpired)
        }
    }

    /// Returns the judgement of each purchase, or `productMismatch` if the submitted product is missing. For a hold,
    /// never returns `productMismatch`: if Apple's answer lacks the held purchase, the hold stays.
    private func judge(_ receipt: GenuineReceipt, besides further: FurtherAnswers) -> Judgement {
        var others: [StorePurchase] = []
        if let product = submission.productID, !receipt.names(product), !listsHeld(receipt) {
            if further.history == nil, let question = question(about: product, missingIn: receipt) {
                return .needs(question)
            }
            others = finishedEarly(product, missingIn: receipt, among: further.history ?? [])
            if others.isEmpty, held == nil { return .decided(.whole(.productMismatch, receipt.purchases)) }
        }
        let completed = receipt.completed(by: further, adding: others)
        let told = Set(others.map(\.transactionID))
        let judged = completed.purchases.map { purchase in
            var judged = self.judged(purchase, in: completed, besides: further)
            if told.contains(purchase.transactionID) {
                judged.origin = .history
            } else if receipt.listedLater.contains(purchase.transactionID), !isSigned(purchase.transactionID) {
                judged.origin = .latest
            }
            return judged
        }
        // Apple has just described the purchases of the account's history, and the purchases that the worker asked for
        // by id. So these purchases need no look-up.
        let open = openLookUps(in: judged, besides: further).filter { !told.contains($0) && !further.isToldByName($0) }
        if !open.isEmpty { return .needs(.transactions(open, in: receipt.environment)) }
        if let question = question(aboutGraceIn: judged, of: completed, besides: further) { return .needs(question) }
        // Readable purchases come last, because the last purchase gives the submission its reason.
        return .decided(.each(receipt.nameless.map(\.rejected) + judged))
    }

    /// Returns whether the judgement would differ without Apple's status 21006. Apple is known to send that status
    /// wrongly for hours around an expiry.
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

    /// - Parameter exempt: the reasons whose rules are skipped.
    func judged(
        _ told: StorePurchase, in receipt: GenuineReceipt, besides further: FurtherAnswers = FurtherAnswers(),
        but exempt: Set<Reason> = []
    ) -> JudgedPurchase {
        var purchase = told
        // A subscription's quantity is its number of seats. Seats are not goods.
        if app.kind(of: purchase) == .autoRenewableSubscription { purchase.quantity = 1 }
        let product = app.products[purchase.productID]
        let facts = PurchaseRule.Facts(
            judge: self, purchase: purchase, product: product, receipt: receipt,
            accessEnd: accessEnd(of: purchase, in: receipt, besides: further))
        return JudgedPurchase(
            purchase: purchase, kind: app.settledKind(of: purchase), verdict: verdict(on: facts, but: exempt),
            dailyLimit: isWaived(.dailyLimit) ? nil : product?.dailyLimit)
    }

    /// A purchase may get these reasons after a worker granted it.
    private static let maySinceGrant: Set<Reason> = [.cancelled, .upgraded]

    private func isWaived(_ reason: Reason) -> Bool {
        waived.contains(reason) || announced?.waives(reason) ?? false
    }

    private func verdict(on facts: PurchaseRule.Facts, but exempt: Set<Reason>) -> JudgedPurchase.Verdict {
        for rule in PurchaseRule.all {
            if exempt.contains(rule.reason) || announced?.waives(rule.reason) ?? false { continue }
            guard let verdict = rule.verdict(on: facts) else { continue }
            if isDecidedAgain, verdict.isRejection, Self.maySinceGrant.contains(rule.reason) {
                let other = self.verdict(on: facts, but: exempt.union(Self.maySinceGrant))
                if case .grant = other { return other }
            }
            return verdict
        }
        return .grant(payload: facts.product?.payload)
    }
}
