import NamesAndTimes

/// A paid period of an auto-renewable subscription, whatever transactions name it. Added seats have transactions of
/// their own that end with the period; so have its restored copies in older receipts.
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
    /// The subscription that it continues; nil if Apple names none. If that one was granted a period with the same
    /// product and times, it is this period.
    public let previousOriginalTransactionID: StoreTransactionID?
    public let app: StoreApp

    /// The period of a subscription that Apple announced; nil if its end is unknown.
    public init?(_ announced: AnnouncedPurchase) {
        let purchase = announced.purchase
        guard let end = purchase.expiresAt else { return nil }
        period = GrantedPeriod(
            originalTransactionID: purchase.originalTransactionID, productID: purchase.productID, expiresAt: end)
        purchasedAt = purchase.purchasedAt
        previousOriginalTransactionID = announced.previousOriginalTransactionID
        app = StoreApp(announced.evidence.bundleID, in: announced.evidence.environment)
    }

    /// Returns nil unless it is a period of an auto-renewable subscription.
    public init?(_ judged: JudgedPurchase, in app: StoreApp) {
        guard let period = judged.period else { return nil }
        self.period = period
        purchasedAt = judged.purchase.purchasedAt
        previousOriginalTransactionID = judged.purchase.previousOriginalTransactionID
        self.app = app
    }
}

extension JudgedPurchase {
    /// The period of an auto-renewable subscription; nil for every other purchase.
    public var period: GrantedPeriod? {
        guard kind == .autoRenewableSubscription, let end = purchase.expiresAt else { return nil }
        return GrantedPeriod(
            originalTransactionID: purchase.originalTransactionID, productID: purchase.productID, expiresAt: end)
    }
}

extension LedgerView {
    /// Enters the period of a grant. An earlier grant may end later by now, because Apple extends periods
    /// (RENEWAL_EXTENDED).
    mutating func enterPeriod(ofGranted judged: JudgedPurchase) {
        guard let period = judged.period, let grant = grants[judged.purchase.transactionID], !grant.isRevoked else {
            return
        }
        periods[period, default: [:]][judged.purchase.transactionID] = judged.purchase.purchasedAt
    }

    /// Returns whether another transaction grants the period and is not revoked.
    func isPeriodGranted(_ judged: JudgedPurchase, in app: StoreApp) -> Bool {
        guard let period = judged.period else { return false }
        let isInForce = { (transaction: StoreTransactionID) in
            transaction != judged.purchase.transactionID && grants[transaction]?.isRevoked != true
        }
        if periods[period]?.keys.contains(where: isInForce) == true { return true }
        guard let before = judged.purchase.previousOriginalTransactionID, claimApps[before]?.contains(app) == true
        else { return false }
        let earlier = GrantedPeriod(
            originalTransactionID: before, productID: period.productID, expiresAt: period.expiresAt)
        return periods[earlier]?.contains { $0.value == judged.purchase.purchasedAt && isInForce($0.key) } == true
    }
}
