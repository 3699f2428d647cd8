import NamesAndTimes

/// A purchase that Apple vouches for and that its player paid for and did not get. A rule refused it, or its submission
/// is parked.
public struct UndeliveredPurchase: Sendable, Equatable {
    /// The most purchases that are kept of a submission. A receipt may list hundreds.
    static let mostOfSubmission = 20
    /// The days that they are kept: Apple asks about a refund within weeks.
    public static let keptDays: Int32 = 180
    /// Stands for a reason if the submission is parked.
    public static let parked = "parked"

    /// The reasons by which a rule leaves a paying player without the purchase.
    ///
    /// Purchases that another player owns, that another transaction delivered, that Apple took back or that somebody
    /// else paid for are not among them. Held purchases and operators' refusals have rows of their own.
    static let reasons: Set<Reason> = [
        .sandboxNotAllowed, .productMismatch, .bindingMismatch, .subscriptionExpired, .retiredProduct,
    ]

    public let transactionID: StoreTransactionID
    public let originalTransactionID: StoreTransactionID
    public let productID: ProductID
    public let environment: StoreEnvironment
    public let kind: ProductKind?
    public let expiresAt: Timestamp?
    /// The code of a reason, or `parked`.
    public let reason: String
    /// The purchase's token if it was refused for its binding; nil otherwise. If the token is known as another
    /// player's, so is the purchase.
    public let doubtedToken: AccountTokenKey?

    /// Returns nil unless this player paid for the purchase and may still have it.
    init?(
        _ purchase: StorePurchase, kind: ProductKind?, in environment: StoreEnvironment, reason: String,
        doubtedToken: AccountTokenKey? = nil
    ) {
        guard !purchase.isWhollyRefunded, !purchase.isUpgraded, !purchase.isFamilyShared,
            // Every database takes sound ids, and Apple's are sound: a refused row would hold up the decision.
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

    /// Returns the newest ones, at most `mostOfSubmission`.
    fileprivate static func some(of purchases: [(purchase: StorePurchase, told: UndeliveredPurchase)])
        -> [UndeliveredPurchase]
    {
        guard purchases.count > mostOfSubmission else { return purchases.map(\.told) }
        return purchases.sorted { $0.purchase.purchasedAt > $1.purchase.purchasedAt }
            .prefix(mostOfSubmission).map(\.told)
    }
}

/// The terms by which a refused purchase counts as its player's.
public struct UndeliveredTerms: Sendable {
    /// True for a receipt or a proven signature. A bare id proves no possession.
    public let provesPossession: Bool
    /// The app's cutover; nil if it has none. Another system delivered earlier purchases, if anyone did.
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
        // Beside what is granted, a period that is over came to its end in the hands of whoever was granted it then.
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
            // Refused before anything tied it to the player.
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

    /// Returns whether a purchase that was refused for its binding may be the player's, because nothing known here
    /// names another player. The database's facts about the token are looked up with the row.
    fileprivate func mayBeOwn(_ judged: JudgedPurchase) -> Bool {
        guard judged.verdict == .reject(.bindingMismatch) else { return false }
        guard tokenUse == .none, let token = judged.purchase.appAccountToken else { return true }
        return PlayerID(token) == submission.playerID
    }
}

extension HoldDecision {
    /// Returns the purchase if the rules refused for `reason` what its player paid for; nil otherwise.
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
    /// Returns the purchases of a proven proof, except another account's.
    /// - Parameter cutover: the app's cutover. Another system delivered earlier purchases, if anyone did.
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
