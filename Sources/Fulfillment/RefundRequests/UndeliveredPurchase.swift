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

    /// The reasons by which a rule leaves a paying player without the purchase.
    ///
    /// The set lacks the reasons of a purchase that another player owns or paid for, that another transaction
    /// delivered, or that Apple refunded. Held purchases and operators' refusals have rows of their own.
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
    /// The purchase's account token if the purchase was refused for `binding_mismatch`; nil otherwise. If the ledger
    /// knows the token as another player's, the purchase is that player's.
    public let doubtedToken: AccountTokenKey?

    /// Returns nil if Apple refunded the whole purchase, the player gave it up for another plan, a family member shared
    /// it, or an id is unsound.
    init?(
        _ purchase: StorePurchase, kind: ProductKind?, in environment: StoreEnvironment, reason: String,
        doubtedToken: AccountTokenKey? = nil
    ) {
        guard !purchase.isWhollyRefunded, !purchase.isUpgraded, !purchase.isFamilyShared,
            // The database might refuse a row with an unsound id, and so hold up the decision. Apple's ids are sound.
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

/// The conditions under which a refused purchase counts as the player's.
public struct UndeliveredTerms: Sendable {
    /// True if the proof is a receipt or has a proven signature. A bare transaction id proves no possession.
    public let provesPossession: Bool
    /// The app's cutover; nil if it has none. Earlier purchases do not count: another system had to deliver them.
    public let cutover: Timestamp?

    public init(provesPossession: Bool, cutover: Timestamp?) {
        self.provesPossession = provesPossession
        self.cutover = cutover
    }
}

extension PendingDecision {
    /// Returns the purchases that the player paid for and the rules refused.
    public func undelivered(after settlement: Settlement) -> [UndeliveredPurchase] {
        guard let terms = undeliveredTerms, settlement.outcomes.contains(where: { $0.isOfUndelivered }) else {
            return []
        }
        var refused: [StoreTransactionID: Reason] = [:]
        for outcome in settlement.outcomes where outcome.isOfUndelivered {
            refused[outcome.transactionID] = outcome.reason
        }
        // An ended period counts as undelivered only if the whole submission was refused. Otherwise it was granted to
        // some player while it ran.
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
            // The whole submission was refused, so only the possession of the proof ties the purchases to the player.
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

    /// Returns whether a purchase that was refused for `binding_mismatch` may still be the player's: its token names no
    /// other player. The database's facts about the token are read later, together with the row.
    fileprivate func mayBeOwn(_ judged: JudgedPurchase) -> Bool {
        guard judged.verdict == .reject(.bindingMismatch) else { return false }
        guard tokenUse == .none, let token = judged.purchase.appAccountToken else { return true }
        return PlayerID(token) == submission.playerID
    }
}

extension HoldDecision {
    /// Returns the purchase if the player paid for it and the rules refused it for `reason`; nil otherwise.
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
    /// Returns the purchases of a proven proof that the player waits for. Those with another account's token are left
    /// out.
    /// - Parameter cutover: the app's cutover; nil if it has none. Earlier purchases are left out too.
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
