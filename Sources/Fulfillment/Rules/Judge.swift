/// The rules of section 4 that Apple's answer, or a proof that stands in for it, and the catalog decide. Pure: the same
/// arguments, the same judgement.
public struct Judge: Sendable {
    /// How often an answer that Apple may take back is asked for before it is believed.
    public static let triesInDoubt = 3
    /// The same for a transaction that neither environment knows: a fresh one may be unknown for a day.
    public static let triesForUnknownTransaction = 8

    public let submission: Submission
    public let app: AppPolicy
    /// The record's time, or now where that lies ahead: expiry is judged at it, so that a redelivery cannot change the
    /// verdict, nor a sender's clock.
    public let recordTimestamp: Timestamp
    public let signature: ParsedProof.Signature
    /// What an operator has let pass: none of these holds anything back.
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
        return JudgedPurchase(
            purchase: purchase, kind: product?.kind, verdict: verdict(on: purchase, product: product, in: receipt),
            dailyLimit: waived.contains(.dailyLimit) ? nil : product?.dailyLimit)
    }

    private func verdict(
        on purchase: StorePurchase, product: Product?, in receipt: GenuineReceipt
    ) -> JudgedPurchase.Verdict {
        if isBoundElsewhere(purchase) { return .reject(.bindingMismatch) }
        if purchase.isUpgraded { return .reject(.upgraded) }
        if purchase.cancelledAt != nil { return .reject(.cancelled) }
        if purchase.isFamilyShared, !app.acceptsFamilyShared { return .reject(.familyShared) }
        if receipt.isExpiredSubscription { return .reject(.subscriptionExpired) }
        if let expiry = purchase.expiresAt, expiry <= recordTimestamp { return .reject(.subscriptionExpired) }
        if purchase.ownership == .other, !waived.contains(.unknownOwnership) { return .hold(.unknownOwnership) }
        if let product, let type = purchase.type, type.kind != product.kind, !waived.contains(.kindMismatch) {
            return .hold(.kindMismatch)
        }
        if app.accountToken == .require, purchase.appAccountToken == nil, !waived.contains(.bindingMissing) {
            return .hold(.bindingMissing)
        }
        if let cutover = app.cutover, purchase.purchasedAt < cutover, !waived.contains(.beforeCutover) {
            return .hold(.beforeCutover)
        }
        if product == nil, !waived.contains(.unknownProduct) { return .hold(.unknownProduct) }
        if let product, product.isRetired {
            switch product.onRetired {
            case .hold where !waived.contains(.retiredProduct): return .hold(.retiredProduct)
            case .reject: return .reject(.retiredProduct)
            case .grant, .hold: break
            }
        }
        if let currency = purchase.currency ?? submission.currency, let admitted = app.currencies,
            !admitted.contains(currency), !waived.contains(.currencyNotAllowed)
        {
            return .hold(.currencyNotAllowed)
        }
        return .grant(payload: product?.payload)
    }

    private func isBoundElsewhere(_ purchase: StorePurchase) -> Bool {
        if app.accountTokenIs == .playerID {
            let tokens = [submission.appAccountToken, purchase.appAccountToken].compactMap(\.self)
            if tokens.contains(where: { PlayerID($0) != submission.playerID }) { return true }
        }
        switch (submission.appAccountToken, purchase.appAccountToken) {
        case (let submitted?, let told?) where submitted == told: return false
        case (.some, .some): return true
        case (nil, _) where app.accountToken == .require: return true
        default:
            return !provesPossession
        }
    }

    /// A bare id proves no possession, and neither does a JWS that is not proven, for anyone can write one around an id.
    /// Only equal tokens tie such a transaction to the player.
    private var provesPossession: Bool {
        switch submission.proof {
        case .receipt: true
        case .signedTransaction: signature == .proven
        case .transactionID: false
        }
    }
}
