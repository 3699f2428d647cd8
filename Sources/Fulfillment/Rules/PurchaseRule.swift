import NamesAndTimes

/// A rule for one purchase. The catalog and Apple's answer decide whether the purchase fails the rule.
///
/// The ledger's facts may also hold a purchase: `PurchaseSettlement` checks `.ownershipDisputed` and `.dailyLimit`.
struct PurchaseRule: Sendable {
    struct Facts {
        let judge: Judge
        let purchase: StorePurchase
        /// The catalog's product; nil if the catalog lacks the product.
        let product: Product?
        let receipt: GenuineReceipt
        /// The end of a subscription's period, or of its grace period if one is known; nil for other purchases.
        let accessEnd: Timestamp?

        var app: AppPolicy { judge.app }
    }

    enum Effect: Sendable {
        case reject
        /// The rule holds the purchase, unless an operator has waived the reason. `AnnouncedTerms.waives` names the
        /// rules that do not apply to a renewal.
        case hold
        /// The rule holds the purchase even if an operator has waived the reason. Only a new answer of Apple's can lead
        /// to a grant.
        case holdAlways
    }

    let reason: Reason
    let effect: Effect
    let fails: @Sendable (Facts) -> Bool

    /// Returns the verdict on a purchase that fails the rule; nil if the purchase passes.
    func verdict(on facts: Facts) -> JudgedPurchase.Verdict? {
        switch effect {
        case .reject: fails(facts) ? .reject(reason) : nil
        case .hold: !facts.judge.waived.contains(reason) && fails(facts) ? .hold(reason) : nil
        case .holdAlways: fails(facts) ? .hold(reason) : nil
        }
    }

    private static func reject(_ reason: Reason, _ fails: @escaping @Sendable (Facts) -> Bool) -> PurchaseRule {
        PurchaseRule(reason: reason, effect: .reject, fails: fails)
    }

    private static func hold(_ reason: Reason, _ fails: @escaping @Sendable (Facts) -> Bool) -> PurchaseRule {
        PurchaseRule(reason: reason, effect: .hold, fails: fails)
    }

    private static func holdAlways(_ reason: Reason, _ fails: @escaping @Sendable (Facts) -> Bool) -> PurchaseRule {
        PurchaseRule(reason: reason, effect: .holdAlways, fails: fails)
    }

    /// The rules in the contract's order. The first rule that the purchase fails gives the verdict.
    static let all: [PurchaseRule] = [
        .reject(.bindingMismatch) { $0.isBoundElsewhere },
        .reject(.upgraded) { $0.purchase.isUpgraded },
        .reject(.cancelled) { $0.purchase.isWhollyRefunded },
        .reject(.familyShared) { $0.purchase.isFamilyShared && !$0.app.acceptsFamilyShared },
        .reject(.subscriptionExpired) { $0.isOver },
        .hold(.unknownOwnership) { $0.purchase.ownership == .other },
        .hold(.kindMismatch) { $0.isOfAnotherKind },
        .hold(.bindingMissing) { $0.lacksRequiredToken },
        .hold(.beforeCutover) { $0.isBeforeCutover },
        .holdAlways(.unreadableTransaction) { !$0.purchase.unreadable.isEmpty },
        .hold(.unknownProduct) { $0.product == nil },
        .hold(.retiredProduct) { $0.isRetired(.hold) },
        .reject(.retiredProduct) { $0.isRetired(.reject) },
        .hold(.currencyNotAllowed) { $0.isInAnotherCurrency },
    ]

    /// The reasons of all rules, each once.
    static let reasons: [Reason] = all.reduce(into: []) { reasons, rule in
        if !reasons.contains(rule.reason) { reasons.append(rule.reason) }
    }
}

extension PurchaseRule.Facts {
    fileprivate var isOver: Bool {
        // With `late_periods: grant`, receiptd grants a paid period even after its end.
        if product?.kind == .autoRenewableSubscription, product?.grantsLatePeriods == true { return false }
        return receipt.isExpiredSubscription || accessEnd.map { $0 <= judge.time(of: purchase, in: receipt) } ?? false
    }

    fileprivate var isOfAnotherKind: Bool {
        guard let product, let type = purchase.type else { return false }
        return type.kind != product.kind
    }

    /// True if the app requires a token and the transaction has none. An unreadable token counts as present.
    fileprivate var lacksRequiredToken: Bool {
        app.accountToken == .require && purchase.appAccountToken == nil
            && !purchase.isUnreadable("appAccountToken", "app_account_token")
    }

    fileprivate var isBeforeCutover: Bool {
        guard let cutover = app.cutover, !purchase.hasUnreadablePurchaseTime else { return false }
        return purchase.purchasedAt < cutover || isCopyOfPurchase(before: cutover)
    }

    /// Returns whether the purchase is a restored copy of a purchase from before `time`. The copy's own date is the
    /// later date of the restore. The earlier system may have delivered the goods at the first purchase.
    private func isCopyOfPurchase(before time: Timestamp) -> Bool {
        // A subscription's later period is no copy: the player paid for the period itself.
        let isPeriod = [purchase.type?.kind, product?.kind].contains(.autoRenewableSubscription)
        guard purchase.isRestoredCopy, !isPeriod, let first = purchase.originalPurchasedAt else { return false }
        return first < time
    }

    fileprivate func isRetired(_ action: Product.RetiredAction) -> Bool {
        product.map { $0.isRetired && $0.onRetired == action } ?? false
    }

    /// True if the app does not admit the purchase's currency. If Apple names no currency, the submission's currency
    /// counts. If neither names a currency, the purchase passes.
    fileprivate var isInAnotherCurrency: Bool {
        guard let currency = purchase.currency ?? judge.submission.currency, let admitted = app.currencies else {
            return false
        }
        return !admitted.contains(currency)
    }

    fileprivate var isBoundElsewhere: Bool {
        let tokens = (submitted: judge.submission.appAccountToken, told: purchase.appAccountToken)
        if app.accountTokenIs == .playerID {
            let known = [tokens.submitted, tokens.told].compactMap(\.self)
            if known.contains(where: { PlayerID($0) != judge.submission.playerID }) { return true }
        }
        // Nobody submitted an announced purchase, so nobody had to prove possession. Its `Submission` has the token
        // that Apple signed.
        if judge.announced != nil { return false }
        switch tokens {
        case (let submitted?, let told?): return submitted != told
        case (nil, _) where app.accountToken == .require: return true
        default: return !provesPossession
        }
    }

    /// True if the proof shows that its sender had the purchase. A bare id shows nothing, and anyone can write an
    /// unproven JWS around an id. Only equal account tokens tie the transaction of such a proof to the player.
    private var provesPossession: Bool {
        switch judge.submission.proof {
        case .receipt: true
        case .signedTransaction: judge.signature == .proven
        case .transactionID: false
        }
    }
}
