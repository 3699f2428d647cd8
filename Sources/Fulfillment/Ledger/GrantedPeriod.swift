import NamesAndTimes

/// A paid period of an auto-renewable subscription. Several transactions may name one period. For example, an added
/// seat, or a restored copy in an older receipt, has its own transaction id, but shares the period's product and end.
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

/// A transaction that pays for a period.
public struct PeriodPurchase: Sendable, Hashable {
    public let period: GrantedPeriod
    public let purchasedAt: Timestamp
    /// The subscription that this purchase's subscription continues; nil if Apple names none. If a period of the
    /// earlier subscription has this period's product and times, both are one period.
    public let previousOriginalTransactionID: StoreTransactionID?
    public let app: StoreApp

    /// Makes the purchase of an announced period; nil if the period's end is unknown.
    public init?(_ announced: AnnouncedPurchase) {
        let purchase = announced.purchase
        guard let end = purchase.expiresAt else { return nil }
        period = GrantedPeriod(
            originalTransactionID: purchase.originalTransactionID, productID: purchase.productID, expiresAt: end)
        purchasedAt = purchase.purchasedAt
        previousOriginalTransactionID = announced.previousOriginalTransactionID
        app = StoreApp(announced.evidence.bundleID, in: announced.evidence.environment)
    }

    /// Makes the purchase of a judged period; nil unless the purchase is a period of an auto-renewable subscription.
    public init?(_ judged: JudgedPurchase, in app: StoreApp) {
        guard let period = judged.period else { return nil }
        self.period = period
        purchasedAt = judged.purchase.purchasedAt
        previousOriginalTransactionID = judged.purchase.previousOriginalTransactionID
        self.app = app
    }
}

extension JudgedPurchase {
    /// The period that the purchase pays for; nil unless the purchase is a period of an auto-renewable subscription.
    public var period: GrantedPeriod? {
        guard kind == .autoRenewableSubscription, let end = purchase.expiresAt else { return nil }
        return GrantedPeriod(
            originalTransactionID: purchase.originalTransactionID, productID: purchase.productID, expiresAt: end)
    }
}

extension LedgerView {
    /// Adds the period of an earlier grant, with the end that Apple names now. Apple may have extended the period since
    /// the grant (`RENEWAL_EXTENDED`).
    mutating func enterPeriod(ofGranted judged: JudgedPurchase) {
        guard let period = judged.period, let grant = grants[judged.purchase.transactionID], !grant.isRevoked else {
            return
        }
        periods[period, default: [:]][judged.purchase.transactionID] = judged.purchase.purchasedAt
    }

    /// Returns whether another transaction grants the period, with a grant that is not revoked. The other transaction
    /// may also belong to the subscription that this purchase's subscription continues.
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
