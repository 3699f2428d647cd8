import NamesAndTimes

/// Identifies a paid period of an auto-renewable subscription, whatever transactions and originals name it.
///
/// Each period's id has a row in the table of claims, beside those of original transactions. A grant, hold or
/// revocation of a period first inserts or locks that row. So the row's uniqueness decides, and no look-up.
public enum PeriodIdentity {
    /// The prefix of period ids. No transaction id begins with it.
    private static let prefix = "period "

    /// Whether a claim is a period's, and not an original transaction's.
    public static func isPeriod(_ claim: StoreTransactionID) -> Bool { claim.text.hasPrefix(prefix) }

    /// Returns the id of the period that a purchase pays for, by Apple's `webOrderLineItemId`. Without one, the id is
    /// made of product and times under the original transaction, or under the one that it continues.
    /// - Parameter kind: the catalog's kind, which counts if Apple signed no type.
    /// - Returns: nil for all but periods of auto-renewable subscriptions.
    static func claim(
        of purchase: StorePurchase, kind: ProductKind?, in app: StoreApp
    ) -> StoreTransactionID? {
        guard (purchase.type?.kind ?? kind) == .autoRenewableSubscription else { return nil }
        let parts: [String]
        if let charged = purchase.webOrderLineItemID {
            parts = ["charged", charged.text]
        } else if let end = purchase.expiresAt {
            let original = purchase.previousOriginalTransactionID ?? purchase.originalTransactionID
            parts = [
                "times", original.text, purchase.productID.text, String(purchase.purchasedAt.milliseconds),
                String(end.milliseconds),
            ]
        } else {
            return nil
        }
        let names = ["period", app.bundleID.text, app.environment.rawValue] + parts
        return StoreTransactionID(prefix + NameBasedUUID(names.map(\.utf8)).description)
    }
}

extension PeriodIdentity {
    /// Returns the claim of a purchase from an earlier system, whose kind is unknown; nil unless it has a
    /// `webOrderLineItemId`, or both a beginning and an end.
    public static func claim(
        of transaction: StoreTransactionID, under original: StoreTransactionID,
        goingOnFrom previous: StoreTransactionID?, charged: Identifier?, of product: ProductID, from start: Timestamp?,
        to end: Timestamp?, in app: StoreApp
    ) -> StoreTransactionID? {
        guard start != nil || charged != nil else { return nil }
        var purchase = StorePurchase(
            transactionID: transaction, originalTransactionID: original, productID: product,
            purchasedAt: start ?? Timestamp(milliseconds: 0), expiresAt: start == nil ? nil : end)
        purchase.previousOriginalTransactionID = previous
        purchase.webOrderLineItemID = charged
        return claim(of: purchase, kind: .autoRenewableSubscription, in: app)
    }
}

/// An app in one of Apple's environments. An id of the sandbox says nothing about Production.
public struct StoreApp: Sendable, Hashable {
    public let bundleID: BundleID
    public let environment: StoreEnvironment

    public init(_ bundleID: BundleID, in environment: StoreEnvironment) {
        self.bundleID = bundleID
        self.environment = environment
    }
}

extension PendingDecision {
    public var app: StoreApp { StoreApp(submission.bundleID, in: environment) }

    /// Returns the id of the paid period; nil if the purchase pays for none.
    public func period(of judged: JudgedPurchase) -> StoreTransactionID? {
        PeriodIdentity.claim(of: judged.purchase, kind: judged.kind, in: app)
    }

    /// Returns the id of the period that a purchase pays for, by the type that Apple signed; nil if it pays for none.
    func period(of purchase: StorePurchase) -> StoreTransactionID? {
        PeriodIdentity.claim(of: purchase, kind: nil, in: app)
    }

    /// Returns the id of the granted period; nil if the grant is of none.
    public func period(of grant: Settlement.NewGrant) -> StoreTransactionID? {
        PeriodIdentity.claim(of: grant.purchase, kind: grant.kind, in: app)
    }

    /// Passes ownership on between subscriptions that share a granted period. The later one continues the other: both
    /// have the same owner, and so has each one after them. The ledger has granted the period, or an answer of Apple's
    /// shows it beside a granted purchase. A family member's copy continues nothing.
    func passOn(periods judged: [JudgedPurchase], in view: inout LedgerView) {
        var shared = SharedPeriods()
        for one in judged where !one.purchase.isFamilyShared {
            if let period = period(of: one) { shared.add(period, of: one.purchase.originalTransactionID) }
        }
        guard !shared.isEmpty else { return }
        // A hold frees its claim when it is refused: nothing is passed on from it.
        let granted = judged.filter { view.grants[$0.purchase.transactionID] != nil }
        shared.passOn(from: granted.map(\.purchase.originalTransactionID), in: &view)
        for (period, original) in shared.inOrder where view.claims[original]?.player == nil {
            guard let claim = view.claims[period], let owner = claim.player, !owner.isPseudonym,
                let transaction = claim.grantedTransaction, view.grants[transaction] != nil
            else { continue }
            view.claims[original, default: LedgerView.Claim(player: owner)].player = owner
            shared.passOn(from: [original], in: &view)
        }
    }

    /// Returns the id of the held period; nil if the hold is of none, or is a dispute, which claims nothing.
    public func period(of hold: Settlement.NewHold) -> StoreTransactionID? {
        hold.reason == .ownershipDisputed ? nil : PeriodIdentity.claim(of: hold.purchase, kind: hold.kind, in: app)
    }
}

/// The periods of the subscriptions that one answer of Apple's lists.
private struct SharedPeriods {
    private(set) var inOrder: [(period: StoreTransactionID, original: StoreTransactionID)] = []
    private var periods: [StoreTransactionID: [StoreTransactionID]] = [:]
    private var originals: [StoreTransactionID: [StoreTransactionID]] = [:]

    var isEmpty: Bool { inOrder.isEmpty }

    mutating func add(_ period: StoreTransactionID, of original: StoreTransactionID) {
        inOrder.append((period, original))
        periods[original, default: []].append(period)
        originals[period, default: []].append(original)
    }

    /// Makes the owners of subscriptions the owners of those that share a period with them and have none.
    mutating func passOn(from owned: [StoreTransactionID], in view: inout LedgerView) {
        guard periods.count > 1 else { return }
        var owned = owned
        var next = 0
        while next < owned.count {
            let original = owned[next]
            next += 1
            guard let owner = view.claims[original]?.player, !owner.isPseudonym else { continue }
            for period in periods[original] ?? [] {
                for other in originals.removeValue(forKey: period) ?? [] {
                    if view.claims[other]?.player == nil {
                        view.claims[other, default: LedgerView.Claim(player: owner)].player = owner
                    }
                    if view.claims[other]?.player == owner { owned.append(other) }
                }
            }
        }
    }
}

extension NotifiedTransaction {
    public var app: StoreApp { StoreApp(bundleID, in: environment) }

    /// The id of the paid period; nil if the purchase pays for none.
    public var period: StoreTransactionID? {
        var purchase = purchase
        purchase.previousOriginalTransactionID =
            purchase.previousOriginalTransactionID ?? previousOriginalTransactionID
        return PeriodIdentity.claim(of: purchase, kind: kind, in: app)
    }
}

extension AnnouncedPurchase {
    /// Returns the id of the paid period; nil if the purchase pays for none.
    /// - Parameter kind: the catalog's kind; nil if the catalog lacks the product.
    public func period(_ kind: ProductKind?) -> StoreTransactionID? {
        PeriodIdentity.claim(
            of: purchase, kind: kind, in: StoreApp(evidence.bundleID, in: evidence.environment))
    }
}

extension LedgerView {
    /// Returns the other transaction by which the purchase's period is granted or held; nil if there is none.
    func otherTransaction(of judged: JudgedPurchase, in decision: PendingDecision) -> StoreTransactionID? {
        guard let period = decision.period(of: judged), let known = claims[period]?.grantedTransaction,
            known != judged.purchase.transactionID
        else { return nil }
        return known
    }

    /// Enters that the purchase has its period, granted or held.
    public mutating func enterPeriod(of judged: JudgedPurchase, decision: PendingDecision) {
        guard let period = decision.period(of: judged) else { return }
        claims[period] = Claim(
            player: decision.submission.playerID, grantedTransaction: judged.purchase.transactionID)
    }
}
