import NamesAndTimes

/// The id of a paid period of an auto-renewable subscription. A period has one id, even if several transactions and
/// several original transactions name the period.
///
/// The table of claims has a row for each period's id, beside the rows of original transactions. A worker inserts or
/// locks that row before it grants, holds or revokes the period. So the unique row decides which player gets the
/// period, even if two workers settle it at once.
public enum PeriodIdentity {
    /// The prefix of period ids. No transaction id begins with this prefix.
    private static let prefix = "period "

    /// Returns whether the id of a claim is a period's id. Returns false for the id of an original transaction.
    public static func isPeriod(_ claim: StoreTransactionID) -> Bool { claim.text.hasPrefix(prefix) }

    /// Returns the id of the period that a purchase pays for, made from Apple's `webOrderLineItemId`. If Apple gives no
    /// `webOrderLineItemId`, the id is made from the product, the times and the original transaction. If the
    /// subscription continues an earlier subscription, the earlier original transaction counts.
    /// - Parameter kind: the catalog's kind, which counts if Apple signed no type.
    /// - Returns: nil if the purchase is no period of an auto-renewable subscription, or if Apple gives neither a
    ///   `webOrderLineItemId` nor the period's end.
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
    /// Returns the id of the period that a purchase from an earlier system pays for. The purchase's kind is unknown.
    /// Returns nil unless the purchase has a `webOrderLineItemId`, or both a beginning and an end.
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

/// An app in one of Apple's environments. A transaction id in the sandbox may mean another purchase in Production.
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

    /// Returns the id of the period that the purchase pays for; nil if it pays for none.
    public func period(of judged: JudgedPurchase) -> StoreTransactionID? {
        PeriodIdentity.claim(of: judged.purchase, kind: judged.kind, in: app)
    }

    /// Returns the id of the period that a purchase pays for; nil if it pays for none. Only the type that Apple signed
    /// counts, not the catalog's kind.
    func period(of purchase: StorePurchase) -> StoreTransactionID? {
        PeriodIdentity.claim(of: purchase, kind: nil, in: app)
    }

    /// Returns the id of the granted period; nil if the grant is not of a period.
    public func period(of grant: Settlement.NewGrant) -> StoreTransactionID? {
        PeriodIdentity.claim(of: grant.purchase, kind: grant.kind, in: app)
    }

    /// Gives one owner to all subscriptions that list the same paid period, because the later of them continues the
    /// earlier. This owner has a subscription with a granted purchase in Apple's answer, or has the ledger's grant of
    /// the period. A subscription that gets an owner passes the owner on to others in turn. Leaves out purchases by
    /// Family Sharing, because their player does not own the subscription.
    func passOn(periods judged: [JudgedPurchase], in view: inout LedgerView) {
        var shared = SharedPeriods()
        for one in judged where !one.purchase.isFamilyShared {
            if let period = period(of: one) { shared.add(period, of: one.purchase.originalTransactionID) }
        }
        guard !shared.isEmpty else { return }
        // Only a granted purchase passes its owner on, even if the database lost the grant. A held purchase does not,
        // because it loses its claim if an operator refuses it.
        let granted = judged.filter { one in
            let transaction = one.purchase.transactionID
            return view.grants[transaction] != nil || view.lostGrant(of: one, in: self)?.transaction == transaction
        }
        shared.passOn(from: granted.map(\.purchase.originalTransactionID), in: &view)
        for (period, original) in shared.inOrder where view.claims[original]?.player == nil {
            guard let claim = view.claims[period], let owner = claim.player, !owner.isPseudonym,
                let transaction = claim.grantedTransaction,
                view.grants[transaction] != nil || view.holds[transaction] == nil
            else { continue }
            view.claims[original, default: LedgerView.Claim(player: owner)].player = owner
            shared.passOn(from: [original], in: &view)
        }
    }

    /// Returns the id of the held period; nil if the hold is not of a period, or is for a dispute, which claims
    /// nothing.
    public func period(of hold: Settlement.NewHold) -> StoreTransactionID? {
        hold.reason == .ownershipDisputed ? nil : PeriodIdentity.claim(of: hold.purchase, kind: hold.kind, in: app)
    }
}

/// The periods that one answer of Apple's lists, with the subscriptions that list them.
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

    /// Gives each subscription without an owner the owner of a subscription that shares a period with it.
    /// - Parameter owned: the original transactions whose owner is known.
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

    /// The id of the period that the purchase pays for; nil if it pays for none.
    public var period: StoreTransactionID? {
        var purchase = purchase
        purchase.previousOriginalTransactionID =
            purchase.previousOriginalTransactionID ?? previousOriginalTransactionID
        return PeriodIdentity.claim(of: purchase, kind: kind, in: app)
    }

    /// The id of the period that a refund of this transaction takes back; nil if there is none. If a family member
    /// loses a shared period, its buyer and the other members keep the period.
    public var refundedPeriod: StoreTransactionID? { purchase.isFamilyShared ? nil : period }
}

extension AnnouncedPurchase {
    /// Returns the id of the period that the purchase pays for; nil if it pays for none.
    /// - Parameter kind: the catalog's kind; nil if the catalog lacks the product.
    public func period(_ kind: ProductKind?) -> StoreTransactionID? {
        PeriodIdentity.claim(
            of: purchase, kind: kind, in: StoreApp(evidence.bundleID, in: evidence.environment))
    }

    /// Returns the id of the period that the purchase pays for, by the product's kind in the catalog; nil if it pays
    /// for none.
    public func period(_ catalog: Catalog) -> StoreTransactionID? {
        period(catalog.apps[evidence.bundleID]?.products[purchase.productID]?.kind)
    }
}

extension LedgerView {
    /// Returns the other transaction that has the grant or the hold of the purchase's period; nil if there is none.
    func otherTransaction(of judged: JudgedPurchase, in decision: PendingDecision) -> StoreTransactionID? {
        guard let period = decision.period(of: judged), let known = claims[period]?.grantedTransaction,
            known != judged.purchase.transactionID
        else { return nil }
        return known
    }

    /// Adds the claim of the purchase's period, with this transaction as the period's grant or hold.
    public mutating func enterPeriod(of judged: JudgedPurchase, decision: PendingDecision) {
        guard let period = decision.period(of: judged) else { return }
        claims[period] = Claim(
            player: decision.submission.playerID, grantedTransaction: judged.purchase.transactionID)
    }
}
