/// The terms of an unsubmitted purchase: it is judged as a proven transaction of the player that it belongs to.
public struct AnnouncedTerms: Sendable, Equatable {
    public let source: PurchaseSource
    /// A further period of a subscription whose owner was let in before, and pays.
    public let isRenewal: Bool
    /// The purchase is for a player whom a word about its token names, although another one owns the original
    /// transaction.
    public var disputesOwner: Bool
    /// The grace period of its subscription goes on.
    public var isInGrace: Bool

    public init(source: PurchaseSource, isRenewal: Bool, disputesOwner: Bool = false, isInGrace: Bool = false) {
        self.source = source
        self.isRenewal = isRenewal
        self.disputesOwner = disputesOwner
        self.isInGrace = isInGrace
    }

    /// The reasons by which such a renewal is not judged.
    static let waivedForRenewals: Set<Reason> = [
        .bindingMismatch, .bindingMissing, .ownershipDisputed, .retiredProduct, .beforeCutover, .currencyNotAllowed,
        .dailyLimit,
    ]

    /// No rule of these is applied.
    func waives(_ reason: Reason) -> Bool {
        isRenewal && Self.waivedForRenewals.contains(reason) || isInGrace && reason == .subscriptionExpired
    }
}
