import Encodings
import NamesAndTimes

extension SubscriptionFact {
    /// Returns one fact for each subscription in a receipt, made from the subscription's newest period and from its
    /// renewal info, if Apple sent any. The facts are sorted by original transaction.
    /// - Parameter now: the facts' time if the receipt has no `answeredAt`, and the period is not refunded.
    public static func all(in receipt: GenuineReceipt, under app: AppPolicy, now: Timestamp) -> [SubscriptionFact] {
        // A subscription with an unreadable period gives no fact, because the unreadable period may be the newest
        // period.
        let open = Set(receipt.purchases.lazy.filter { !$0.unreadable.isEmpty }.map(\.originalTransactionID))
        let periods = receipt.purchases.filter {
            $0.expiresAt != nil && !$0.isUpgraded && app.kind(of: $0) == .autoRenewableSubscription
                && !open.contains($0.originalTransactionID)
        }
        guard !periods.isEmpty else { return [] }
        // The periods are in purchase order, so the last period is the newest.
        let newest = Dictionary(periods.map { ($0.originalTransactionID, $0) }, uniquingKeysWith: { $1 })
        return newest.values.sorted { $0.originalTransactionID < $1.originalTransactionID }.map { period in
            // Apple may have reversed a refund since it signed the purchase or sent the answer. So the fact of a refund
            // gets the refund's own time, as in `RefundWord`.
            let toldAt = receipt.answeredAt ?? period.cancelledAt.map { min($0, now) } ?? now
            let renewal = receipt.renewals.first { $0.originalTransactionID == period.originalTransactionID }
            var fact = SubscriptionFact(
                period, of: app.bundleID, in: receipt.environment, renewal: renewal, state: nil, toldAt: toldAt)
            fact.subscriptionGroupID = period.subscriptionGroupID
            // An answer of verifyReceipt describes the whole subscription.
            fact.isOfPeriodOnly = receipt.answeredAt == nil && renewal == nil && period.cancelledAt == nil
            return fact
        }
    }
}

extension AppPolicy {
    /// Returns the product's kind: Apple's signed type, or the catalog's if Apple signed none; nil if unknown.
    public func kind(of purchase: StorePurchase) -> ProductKind? {
        if let type = purchase.type { return type.kind }
        return products[purchase.productID]?.kind
    }

    /// Returns the kind by which the ledger settles the purchase: Apple's signed type, or the catalog's kind; nil if
    /// unknown. A restored copy counts as a non-consumable, even if the catalog calls the product a consumable or lacks
    /// the product. Otherwise the ledger would grant the copy once more. Only a restored non-consumable has a different
    /// original transaction, never a consumable.
    func settledKind(of purchase: StorePurchase) -> ProductKind? {
        if let signed = purchase.type?.kind { return signed }
        let kind = products[purchase.productID]?.kind
        return purchase.isRestoredCopy && (kind ?? .consumable) == .consumable ? .nonConsumable : kind
    }
}

/// The facts about subscriptions in a decision's evidence; empty if the app does not follow renewals.
public struct ToldSubscriptions: Sendable, Equatable {
    /// The most bytes of a stored receipt, in base64.
    static let maximumReceiptBytes = 512 << 10
    /// The days for which receiptd keeps a receipt after its subscription is over.
    public static let receiptDays: Int32 = 60
    /// The days for which receiptd keeps facts about a subscription without an owner, counted from the beginning of its
    /// period. The longest period is a year.
    public static let unownedDays: Int32 = 400

    public var facts: [SubscriptionFact] = []
    /// The newest receipt with these subscriptions, decoded, for later requests to verifyReceipt; nil if there is none,
    /// or if workers use the App Store Server API.
    public var receipt: [UInt8]?
    /// The app's policy for missed periods.
    public var search = MissedPeriodSearch.never

    public static let none = ToldSubscriptions()

    private init() {}

    /// - Parameters:
    ///   - others: the facts in other answers of Apple's.
    ///   - submitted: the submitted receipt in base64; nil if there is none. Apple's `latest_receipt` takes precedence.
    public init(
        _ evidence: GenuineReceipt?, besides others: [SubscriptionFact] = [], submitted: String?,
        under app: AppPolicy, now: Timestamp
    ) {
        guard app.followsRenewals, let evidence else { return }
        // `others` may say that a subscription is in its grace period, although its period looks expired by its own
        // times. So `others` replace a fact of the evidence that describes only one period.
        let described = Set(others.lazy.map(\.originalTransactionID))
        facts =
            SubscriptionFact.all(in: evidence, under: app, now: now).filter {
                !$0.isOfPeriodOnly || !described.contains($0.originalTransactionID)
            } + others
        search = app.missedPeriodSearch
        guard app.serverAPI == nil, !facts.isEmpty, let newest = evidence.latestReceipt ?? submitted else { return }
        receipt = Self.stored(newest)
    }

    /// Makes the facts from Apple's announcement of a period.
    init(announced: AnnouncedPurchase, under app: AppPolicy) {
        guard app.followsRenewals else { return }
        facts = SubscriptionFact.all(in: announced.evidence, under: app, now: announced.toldAt)
        search = app.missedPeriodSearch
        for index in facts.indices {
            facts[index].previousOriginalTransactionID = announced.previousOriginalTransactionID
            guard let grace = announced.graceExpiresAt, grace > announced.toldAt, facts[index].state == .expired else {
                continue
            }
            (facts[index].state, facts[index].graceExpiresAt) = (.gracePeriod, grace)
        }
    }

    /// Returns the receipt's bytes; nil if the text is not base64, or too large to store.
    static func stored(_ receipt: String) -> [UInt8]? {
        guard receipt.utf8.count <= maximumReceiptBytes, let bytes = Base64.decode(receipt.utf8) else { return nil }
        return bytes
    }
}
