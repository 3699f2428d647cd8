/// The result of the rules for Apple's answer, before it is settled against the ledger.
public enum Judgement: Sendable, Equatable {
    case decided(Verdict)
    /// Apple may change the answer: ask again, then believe it.
    case doubtful(Reason)
    /// Something else has to be known first. Boxed, as few submissions come to it.
    indirect case needs(FurtherQuestion)
    case undecided(AppleAnswer.Trouble)
    case blocked(AppleAnswer.Blockage)
}

/// The decision of the rules, which no rule takes back. The ledger's facts about a purchase still come before it.
public enum Verdict: Sendable, Equatable {
    /// The submission as a whole, with every purchase that Apple told.
    case whole(Reason, [StorePurchase])
    /// Purchase by purchase, in purchase order.
    case each([JudgedPurchase])

    public var purchases: [StorePurchase] {
        switch self {
        case .whole(_, let purchases): purchases
        case .each(let judged): judged.map(\.purchase)
        }
    }

    /// The number of `purchases`, which makes no copies of them.
    public var purchaseCount: Int {
        switch self {
        case .whole(_, let purchases): purchases.count
        case .each(let judged): judged.count
        }
    }

    /// Nothing in it is refused or held by the rules.
    public var grantsAll: Bool {
        guard case .each(let judged) = self else { return false }
        return judged.allSatisfy { if case .grant = $0.verdict { true } else { false } }
    }
}

public struct JudgedPurchase: Sendable, Equatable {
    public let purchase: StorePurchase
    public let kind: ProductKind?
    public let verdict: Verdict
    /// The product's, where the settlement has to check it.
    public let dailyLimit: Int?
    public var origin = Origin.receipt

    /// The place where Apple listed a purchase.
    public enum Origin: Sendable {
        case receipt
        /// The purchase is in `latest_receipt_info` only: the account of a receipt with subscriptions bought it since.
        case latest
        /// The purchase is in the account's history, which was asked because the receipt lacks the product.
        case history
    }

    public init(purchase: StorePurchase, kind: ProductKind?, verdict: Verdict, dailyLimit: Int? = nil) {
        self.purchase = purchase
        self.kind = kind
        self.verdict = verdict
        self.dailyLimit = dailyLimit
    }

    /// Holds unless the ledger knows the purchase already: ownership comes first in the contract's order of reasons.
    public enum Verdict: Sendable, Equatable {
        /// `payload` is the catalog's, a JSON object.
        case grant(payload: String?)
        case hold(Reason)
        case reject(Reason)
    }

    /// Whether another player's claim on the original transaction bars this one. Where the catalog does not know the
    /// product, a period or an original of another id tells that it is no consumable.
    public var isOwnedByOriginal: Bool {
        kind?.isOwnedByOriginal
            ?? (purchase.expiresAt != nil || purchase.originalTransactionID != purchase.transactionID)
    }

    /// Whether it is a non-consumable that was restored from another transaction.
    public var isCopy: Bool {
        kind == .nonConsumable && purchase.transactionID != purchase.originalTransactionID
    }
}
