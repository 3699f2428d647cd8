/// The facts that the rules need about an announced purchase, which Apple reported and nobody submitted. Apart from
/// these facts, the rules judge the purchase like a proven transaction that its player submitted.
public struct AnnouncedTerms: Sendable, Equatable {
    public let source: PurchaseSource
    /// True for a later period of a subscription whose owner passed the rules at an earlier period.
    public let isRenewal: Bool
    /// True if the purchase's token names the player, by `player-accounts` or by the catalog, although another player
    /// owns the original transaction.
    public var disputesOwner: Bool
    /// True if the subscription was in its grace period when Apple announced the purchase.
    public var isInGrace: Bool

    public init(source: PurchaseSource, isRenewal: Bool, disputesOwner: Bool = false, isInGrace: Bool = false) {
        self.source = source
        self.isRenewal = isRenewal
        self.disputesOwner = disputesOwner
        self.isInGrace = isInGrace
    }

    /// The reasons whose rules are skipped for a renewal.
    static let waivedForRenewals: Set<Reason> = [
        .bindingMismatch, .bindingMissing, .ownershipDisputed, .retiredProduct, .beforeCutover, .currencyNotAllowed,
        .dailyLimit,
    ]

    func waives(_ reason: Reason) -> Bool {
        isRenewal && Self.waivedForRenewals.contains(reason) || isInGrace && reason == .subscriptionExpired
    }
}
