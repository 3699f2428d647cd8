import NamesAndTimes

/// The key of one count for a product's `daily_limit`: a player's transactions of the product, bought on one UTC day.
public struct DailyCount: Sendable, Hashable {
    public let bundleID: BundleID
    public let player: PlayerID
    public let product: ProductID
    /// The UTC day of the purchase, in days since 1970.
    public let day: Int32

    public init(bundleID: BundleID, player: PlayerID, product: ProductID, day: Int32) {
        self.bundleID = bundleID
        self.player = player
        self.product = product
        self.day = day
    }
}

extension PendingDecision {
    public func dailyCount(of purchase: StorePurchase) -> DailyCount {
        DailyCount(
            bundleID: submission.bundleID, player: submission.playerID, product: purchase.productID,
            day: purchase.purchasedAt.daysSinceEpoch)
    }

    /// The daily counts that the settlement of this decision needs.
    public var limitedCounts: [DailyCount] {
        guard case .each(let judged) = verdict else { return [] }
        return judged.compactMap { $0.dailyLimit == nil ? nil : dailyCount(of: $0.purchase) }
    }
}

extension LedgerView {
    /// Returns whether the product's daily limit allows one more grant.
    func hasRoom(for judged: JudgedPurchase, of decision: PendingDecision) -> Bool {
        guard let limit = judged.dailyLimit else { return true }
        return dailyCounts[decision.dailyCount(of: judged.purchase), default: 0] < limit
    }
}
