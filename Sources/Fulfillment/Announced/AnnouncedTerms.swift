/// The terms of an announced purchase that nobody submitted. The rules judge it as a proven transaction of its player.
public struct AnnouncedTerms: Sendable, Equatable {
    public let source: PurchaseSource
    /// True for a further period of a subscription whose owner passed the rules before, and pays.
    public let isRenewal: Bool
    /// True if the purchase is for the player whom `player-accounts` or the catalog names by its token, although
    /// another player owns the original transaction.
    public var disputesOwner: Bool
    /// True if the subscription was in its grace period when Apple announced the purchase.
    public var isInGrace: Bool

    public init(source: PurchaseSource, isRenewal: Bool, disputesOwner: Bool = false, isInGrace: Bool = false) {
        self.source = source
        self.isRenewal = isRenewal
        self.disputesOwner = disputesOwner
        self.isInGrace = isInGrace
    }

    /// The reasons that neither refuse nor hold a renewal.
    static let waivedForRenewals: Set<Reason> = [
        .bindingMismatch, .bindingMissing, .ownershipDisputed, .retiredProduct, .beforeCutover, .currencyNotAllowed,
        .dailyLimit,
    ]

    /// Returns whether the rules with this reason are skipped for the purchase.
    func waives(_ reason: Reason) -> Bool {
        isRenewal && Self.waivedForRenewals.contains(reason) || isInGrace && reason == .subscriptionExpired
    }
}
