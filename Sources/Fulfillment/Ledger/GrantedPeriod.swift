import Timestamps

/// A paid period of an auto-renewable subscription, whatever transactions tell of it: Apple tells of seats that are added
/// to it, and in older receipts of its restored copies, by transactions of their own that end with it.
public struct GrantedPeriod: Sendable, Hashable {
    public let originalTransactionID: StoreTransactionID
    public let productID: ProductID
    public let expiresAt: Timestamp

    public init(originalTransactionID: StoreTransactionID, productID: ProductID, expiresAt: Timestamp) {
        self.originalTransactionID = originalTransactionID
        self.productID = productID
        self.expiresAt = expiresAt
    }
}

/// A purchase of a period.
public struct PeriodPurchase: Sendable, Hashable {
    public let period: GrantedPeriod
    public let purchasedAt: Timestamp

    /// Nil for all but a period of an auto-renewable subscription.
    public init?(_ judged: JudgedPurchase) {
        guard let period = judged.period else { return nil }
        self.period = period
        purchasedAt = judged.purchase.purchasedAt
    }
}

extension JudgedPurchase {
    /// Nil for all but a period of an auto-renewable subscription.
    public var period: GrantedPeriod? {
        guard kind == .autoRenewableSubscription, let end = purchase.expiresAt else { return nil }
        return GrantedPeriod(
            originalTransactionID: purchase.originalTransactionID, productID: purchase.productID, expiresAt: end)
    }
}

extension LedgerView {
    /// What was granted before may end later now: Apple extends periods (RENEWAL_EXTENDED).
    mutating func enterPeriod(ofGranted judged: JudgedPurchase) {
        guard let period = judged.period, let grant = grants[judged.purchase.transactionID], !grant.isRevoked else {
            return
        }
        periods[period, default: []].insert(judged.purchase.transactionID)
    }

    /// By another transaction, and not taken back since.
    func isPeriodGranted(_ judged: JudgedPurchase) -> Bool {
        guard let period = judged.period, let transactions = periods[period] else { return false }
        return transactions.contains { $0 != judged.purchase.transactionID && grants[$0]?.isRevoked != true }
    }
}
