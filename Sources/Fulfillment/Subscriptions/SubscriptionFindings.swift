import NamesAndTimes

/// The facts, periods and refunds that a worker found in Apple's answers about a subscription.
public struct SubscriptionFindings: Sendable, Equatable {
    public private(set) var facts: [SubscriptionFact] = []
    /// The paid periods, whether or not the ledger has granted them.
    public private(set) var periods: [AnnouncedPurchase] = []
    /// The older periods and the other purchases that Apple's answers show as refunded. Their refunds revoke the grants
    /// that are not revoked yet.
    public private(set) var shown: [NotifiedTransaction] = []
    /// The periods in Apple's answers that Apple revoked or refunded.
    public private(set) var revoked: [NotifiedTransaction] = []
    /// The newest receipt, decoded, for the next check; nil if there is none.
    public private(set) var receipt: [UInt8]?
    /// The time from which the worker must search the account's history for missed periods; nil if no period is
    /// missing.
    public private(set) var missedSince: Timestamp?
    /// The place up to which the worker has read the account's history.
    public private(set) var readUntil = ReadUntil.nowhere
    /// The seconds until the next check, because the request for the account's history failed; nil if the worker sent
    /// no such request, or if Apple answered.
    public var retryAfterSeconds: Double?

    public enum ReadUntil: Sendable, Equatable {
        /// The worker did not read the history, or did not complete any part of it.
        case nowhere
        /// The worker read every purchase before this time.
        case time(Timestamp)
        case end
    }

    public init() {}

    /// Makes the findings from Apple's answer of the endpoint "Get All Subscription Statuses".
    /// - Parameter known: the checked subscription, as the ledger has it.
    public init(_ statuses: [SubscriptionStatus], of known: Subscription, under app: AppPolicy) {
        missedSince = known.check.historySince
        // The ledger may know the newest period from a fact that came without a grant. Then Apple's answer has nothing
        // new, and only `periodsSince`, which was set with that fact, shows that a worker must ask for periods.
        let unbrought = app.missedPeriodSearch == .always ? known.check.periodsSince : nil
        for status in statuses where status.transaction.bundleID == app.bundleID {
            guard let fact = SubscriptionFact(status) else { continue }
            facts.append(fact)
            add(status.transaction, grace: fact.graceExpiresAt, toldAt: fact.toldAt, under: app)
            guard fact.originalTransactionID == known.originalTransactionID else { continue }
            if let unbrought { missedSince = min(missedSince ?? unbrought, unbrought) }
            guard missedSince == nil, let began = fact.periodBeganAt, known.mayMiss(before: began) else { continue }
            // If there is no gap, a change of plan ended the missed period. Only `.always` searches for a period that
            // has ended.
            let isGap = known.expiresAt.map { $0 < began } ?? false
            if isGap || app.missedPeriodSearch == .always {
                missedSince = known.check.periodsSince ?? known.told.periodBeganAt
            }
        }
    }

    /// Makes the findings from verifyReceipt's answer.
    public init(_ answer: GenuineReceipt, of known: Subscription, under app: AppPolicy, now: Timestamp) {
        guard !app.isForeign(answer.bundleID, answer.appAppleID, in: answer.environment) else { return }
        let told = ToldSubscriptions(answer, submitted: nil, under: app, now: now)
        (facts, receipt) = (told.facts, told.receipt)
        let toldAt = answer.answeredAt ?? now
        for purchase in answer.purchases {
            let kind = app.kind(of: purchase)
            var transaction = NotifiedTransaction(
                purchase: purchase, kind: kind, bundleID: app.bundleID, environment: answer.environment)
            let isOld =
                purchase.originalTransactionID == known.originalTransactionID
                && purchase.purchasedAt < known.check.periodsSince ?? known.told.periodBeganAt
            if isOld || kind != .autoRenewableSubscription {
                noteShown(transaction)
                continue
            }
            let newest = facts.first {
                $0.originalTransactionID == purchase.originalTransactionID && $0.expiresAt == purchase.expiresAt
            }
            transaction.signedAt = toldAt
            add(transaction, grace: newest?.graceExpiresAt, toldAt: toldAt, under: app)
        }
    }

    /// Adds the missed periods and the refunds from the account's history.
    /// - Parameter readUntil: the place up to which the worker has read the history.
    public mutating func add(
        history: [NotifiedTransaction], readUntil: ReadUntil, of known: Subscription, under app: AppPolicy,
        now: Timestamp
    ) {
        self.readUntil = readUntil
        for transaction in history where transaction.bundleID == app.bundleID {
            guard transaction.purchase.originalTransactionID == known.originalTransactionID else {
                noteShown(transaction)
                continue
            }
            add(transaction, grace: nil, toldAt: transaction.signedAt ?? now, under: app)
        }
    }

    /// Adds the transaction to `shown` if Apple refunded it. A period that the player gave up for another plan counts
    /// as not refunded.
    private mutating func noteShown(_ transaction: NotifiedTransaction) {
        if transaction.purchase.cancelledAt != nil, !transaction.purchase.isUpgraded { shown.append(transaction) }
    }

    /// Adds a paid period if it is not over, or if the catalog grants late periods of its product. Adds a revoked
    /// period to `revoked`.
    private mutating func add(
        _ transaction: NotifiedTransaction, grace: Timestamp?, toldAt: Timestamp, under app: AppPolicy
    ) {
        var purchase = transaction.purchase
        let kind = transaction.kind ?? app.kind(of: purchase)
        guard kind == .autoRenewableSubscription, !purchase.isUpgraded,
            !periods.contains(where: { $0.purchase.transactionID == purchase.transactionID })
        else { return }
        if purchase.cancelledAt != nil { return revoked.append(transaction) }
        let end = [purchase.expiresAt, grace].compactMap(\.self).max()
        let isLate = end.map { $0 <= toldAt } ?? false
        guard !isLate || app.products[purchase.productID]?.grantsLatePeriods == true else { return }
        purchase.quantity = 1
        let evidence = GenuineReceipt(
            bundleID: transaction.bundleID, environment: transaction.environment, purchases: [purchase],
            holdsAutoRenewable: true)
        guard
            var period = AnnouncedPurchase(
                evidence: evidence, source: .renewal, name: purchase.transactionID, toldAt: toldAt,
                isRenewal: purchase.transactionID != purchase.originalTransactionID)
        else { return }
        period.graceExpiresAt = grace
        period.previousOriginalTransactionID = transaction.previousOriginalTransactionID
        periods.append(period)
    }
}
