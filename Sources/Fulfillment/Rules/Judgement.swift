/// The result of the rules for Apple's answer. The worker has not yet compared the result with the ledger.
public enum Judgement: Sendable, Equatable {
    case decided(Verdict)
    /// Apple is known to change this answer. The worker asks again, and believes Apple after some tries.
    case doubtful(Reason)
    /// The rules need the answer to a further question first. The case is boxed, because it is rare.
    indirect case needs(FurtherQuestion)
    case undecided(AppleAnswer.Trouble)
    case blocked(AppleAnswer.Blockage)
}

/// The rules' decision on a submission. The ledger's facts about a purchase may overrule the verdict.
public enum Verdict: Sendable, Equatable {
    /// The reason rejects the submission as a whole. The list has all purchases that Apple listed.
    case whole(Reason, [StorePurchase])
    /// The rules gave each purchase a verdict. The purchases are in purchase order.
    case each([JudgedPurchase])

    public var purchases: [StorePurchase] {
        switch self {
        case .whole(_, let purchases): purchases
        case .each(let judged): judged.map(\.purchase)
        }
    }

    /// The number of `purchases`, counted without copying them.
    public var purchaseCount: Int {
        switch self {
        case .whole(_, let purchases): purchases.count
        case .each(let judged): judged.count
        }
    }

    /// True if the rules grant every purchase.
    public var grantsAll: Bool {
        guard case .each(let judged) = self else { return false }
        return judged.allSatisfy { if case .grant = $0.verdict { true } else { false } }
    }
}

public struct JudgedPurchase: Sendable, Equatable {
    public let purchase: StorePurchase
    public let kind: ProductKind?
    public let verdict: Verdict
    /// The product's daily limit if the settlement has to check it; nil otherwise.
    public let dailyLimit: Int?
    public var origin = Origin.receipt

    /// The place where Apple listed a purchase.
    public enum Origin: Sendable {
        case receipt
        /// Only `latest_receipt_info` lists the purchase: the receipt's account bought it after the receipt was made.
        case latest
        /// Only the account's history lists the purchase. The worker asked for the history because the receipt lacks
        /// the product.
        case history
    }

    public init(purchase: StorePurchase, kind: ProductKind?, verdict: Verdict, dailyLimit: Int? = nil) {
        self.purchase = purchase
        self.kind = kind
        self.verdict = verdict
        self.dailyLimit = dailyLimit
    }

    func settled(as kind: ProductKind) -> JudgedPurchase {
        var settled = JudgedPurchase(purchase: purchase, kind: kind, verdict: verdict, dailyLimit: dailyLimit)
        settled.origin = origin
        return settled
    }

    /// The rules' verdict on one purchase. The ledger's facts about the purchase's owner take precedence over this
    /// verdict.
    public enum Verdict: Sendable, Equatable {
        /// The payload is the catalog's JSON object for the product; nil if the catalog has none.
        case grant(payload: String?)
        case hold(Reason)
        case reject(Reason)
    }

    /// True if the owner of the original transaction also owns this purchase. If the catalog lacks the product, this is
    /// so for a purchase with an end or with a different original transaction, because a consumable has neither.
    public var isOwnedByOriginal: Bool {
        kind?.isOwnedByOriginal
            ?? (purchase.expiresAt != nil || purchase.originalTransactionID != purchase.transactionID)
    }

    /// True for a non-consumable that was restored from another transaction.
    public var isCopy: Bool {
        kind == .nonConsumable && purchase.transactionID != purchase.originalTransactionID
    }
}
