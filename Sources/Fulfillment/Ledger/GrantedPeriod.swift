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

extension JudgedPurchase {
    /// Nil for all but a period of an auto-renewable subscription.
    public var period: GrantedPeriod? {
        guard kind == .autoRenewableSubscription, let end = purchase.expiresAt else { return nil }
        return GrantedPeriod(
            originalTransactionID: purchase.originalTransactionID, productID: purchase.productID, expiresAt: end)
    }
}

extension LedgerView {
    /// By another transaction, and not taken back since.
    func isPeriodGranted(_ judged: JudgedPurchase) -> Bool {
        guard let period = judged.period, let transactions = periods[period] else { return false }
        return transactions.contains { $0 != judged.purchase.transactionID && grants[$0]?.isRevoked != true }
    }
}
