import NamesAndTimes

/// A purchase that Apple vouches for and that the player paid for but did not get. A rule refused the purchase, or its
/// submission is parked.
public struct UndeliveredPurchase: Sendable, Equatable {
    /// The most purchases that receiptd keeps for one submission. A receipt may list hundreds.
    static let mostOfSubmission = 20
    /// The days for which receiptd keeps undelivered purchases. Apple asks about a refund within weeks.
    public static let keptDays: Int32 = 180
    /// The value of `reason` if the submission is parked.
    public static let parked = "parked"

    /// The reasons for which a rule leaves a paying player without the purchase.
    ///
    /// The set lacks reasons with three meanings: another player owns or paid for the purchase, another transaction
    /// delivered it, or Apple refunded it. Held purchases and operators' refusals have rows of their own.
    static let reasons: Set<Reason> = [
        .sandboxNotAllowed, .productMismatch, .bindingMismatch, .subscriptionExpired, .retiredProduct,
    ]

    public let transactionID: StoreTransactionID
    public let originalTransactionID: StoreTransactionID
    public let productID: ProductID
    public let environment: StoreEnvironment
    public let kind: ProductKind?
    public let expiresAt: Timestamp?
    /// The code of the rule's reason, or `parked`.
    public let reason: String
    /// The purchase's account token if a rule rejected the purchase for `binding_mismatch`; nil otherwise. If the
    /// ledger knows the token as another player's, the purchase is the other player's.
    public let doubtedToken: AccountTokenKey?

    /// Returns nil if Apple refunded the whole purchase, if the player gave the purchase up for another plan, or if a
    /// family member shared it. Also returns nil if an id has an invalid form.
    init?(
        _ purchase: StorePurchase, kind: ProductKind?, in environment: StoreEnvironment, reason: String,
        doubtedToken: AccountTokenKey? = nil
    ) {
        guard !purchase.isWhollyRefunded, !purchase.isUpgraded, !purchase.isFamilyShared,
            // The database might refuse a row with an invalid id, and so delay the decision. Apple's own ids are valid.
            TransactionIDText.isSound(purchase.transactionID.text),
            TransactionIDText.isSound(purchase.originalTransactionID.text),
            purchase.productID.text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) })
        else { return nil }
        transactionID = purchase.transactionID
        originalTransactionID = purchase.originalTransactionID
        productID = purchase.productID
        self.environment = environment
        self.kind = kind ?? purchase.type?.kind
        expiresAt = purchase.expiresAt
        self.reason = reason
        self.doubtedToken = doubtedToken
    }

    /// Returns the newest of the purchases, at most `mostOfSubmission`.
    fileprivate static func some(of purchases: [(purchase: StorePurchase, told: UndeliveredPurchase)])
        -> [UndeliveredPurchase]
    {
        guard purchases.count > mostOfSubmission else { return purchases.map(\.told) }
        return purchases.sorted { $0.purchase.purchasedAt > $1.purchase.purchasedAt }
            .prefix(mostOfSubmission).map(\.told)
    }
}

/// The conditions under which a rejected purchase counts as the player's.
public struct UndeliveredTerms: Sendable {
    /// True if the proof is a receipt or has a proven signature. A bare transaction id proves no possession.
    public let provesPossession: Bool
    /// The app's cutover; nil if it has none. Purchases before the cutover do not count, because another system had to
    /// deliver them.
    public let cutover: Timestamp?

    public init(provesPossession: Bool, cutover: Timestamp?) {
        self.provesPossession = provesPossession
        self.cutover = cutover
    }
}

extension PendingDecision {
    /// Returns the purchases that the player paid for and the rules rejected.
    public func undelivered(after settlement: Settlement) -> [UndeliveredPurchase] {
        guard let terms = undeliveredTerms, settlement.outcomes.contains(where: { $0.isOfUndelivered }) else {
            return []
        }
        var refused: [StoreTransactionID: Reason] = [:]
        for outcome in settlement.outcomes where outcome.isOfUndelivered {
            refused[outcome.transactionID] = outcome.reason
        }
        // An ended period counts as undelivered only if the whole submission was rejected. Otherwise some player
        // probably got the period while it ran.
        let isRefusedWhole = settlement.answer?.kind == .rejected && settlement.answer?.reason != .alreadyGranted
        func told(_ purchase: StorePurchase, _ kind: ProductKind?) -> (StorePurchase, UndeliveredPurchase)? {
            let isDoubted = refused[purchase.transactionID] == .bindingMismatch
            guard let reason = refused[purchase.transactionID], reason != .subscriptionExpired || isRefusedWhole,
                terms.cutover.map({ purchase.purchasedAt >= $0 }) ?? true
            else { return nil }
            return UndeliveredPurchase(
                purchase, kind: kind, in: environment, reason: reason.rawValue,
                doubtedToken: isDoubted ? token(of: purchase) : nil
            ).map { (purchase, $0) }
        }
        switch verdict {
        case .whole(_, let purchases):
            // The rules rejected the whole submission, so only the possession of the proof ties the purchases to the
            // player.
            return terms.provesPossession ? UndeliveredPurchase.some(of: purchases.compactMap { told($0, nil) }) : []
        case .each(let judged):
            return UndeliveredPurchase.some(
                of: judged.compactMap { one in
                    if refused[one.purchase.transactionID] == .bindingMismatch {
                        guard terms.provesPossession, mayBeOwn(one) else { return nil }
                    }
                    return told(one.purchase, one.kind)
                })
        }
    }

    fileprivate func token(of purchase: StorePurchase) -> AccountTokenKey? {
        purchase.appAccountToken.map { AccountTokenKey(bundleID: submission.bundleID, token: $0) }
    }

    /// Returns whether a purchase that was rejected for `binding_mismatch` may still be the player's, because its token
    /// names no other player. PostgreSQL checks its own facts about the token later, when a worker reads the row.
    fileprivate func mayBeOwn(_ judged: JudgedPurchase) -> Bool {
        guard judged.verdict == .reject(.bindingMismatch) else { return false }
        guard tokenUse == .none, let token = judged.purchase.appAccountToken else { return true }
        return PlayerID(token) == submission.playerID
    }
}

extension HoldDecision {
    /// Returns the purchase if the player paid for it and the rules rejected it for `reason`; nil otherwise.
    public func undelivered(refusedFor reason: Reason?) -> UndeliveredPurchase? {
        guard let reason, UndeliveredPurchase.reasons.contains(reason), let judged else { return nil }
        let isDoubted = reason == .bindingMismatch
        if isDoubted, !decision.mayBeOwn(judged) { return nil }
        return UndeliveredPurchase(
            judged.purchase, kind: judged.kind, in: decision.environment, reason: reason.rawValue,
            doubtedToken: isDoubted ? decision.token(of: judged.purchase) : nil)
    }
}

extension ParkingSubmission {
    /// Returns the purchases of a proven proof that the player waits for. Leaves out purchases with an account token
    /// that differs from the submission's.
    /// - Parameter cutover: the app's cutover; nil if it has none. Leaves out purchases before the cutover.
    static func undelivered(
        _ receipt: GenuineReceipt?, since cutover: Timestamp?, of submission: Submission
    ) -> [UndeliveredPurchase] {
        guard let receipt, receipt.bundleID == submission.bundleID else { return [] }
        return UndeliveredPurchase.some(
            of: receipt.purchases.compactMap { purchase in
                if let cutover, purchase.purchasedAt < cutover { return nil }
                if let token = purchase.appAccountToken, let own = submission.appAccountToken, token != own {
                    return nil
                }
                return UndeliveredPurchase(
                    purchase, kind: nil, in: receipt.environment, reason: UndeliveredPurchase.parked
                ).map { (purchase, $0) }
            })
    }
}

extension TransactionOutcome {
    fileprivate var isOfUndelivered: Bool {
        outcome == .rejected && reason.map(UndeliveredPurchase.reasons.contains) ?? false
    }
}
