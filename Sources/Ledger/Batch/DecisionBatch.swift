import Fulfillment
import NamesAndTimes

/// The decisions of one SQL transaction, each record once, and the claims, purchases and players of these decisions.
struct DecisionBatch: Sendable {
    struct Purchase: Sendable {
        let transactionID: StoreTransactionID
        let originalTransactionID: StoreTransactionID
        /// The claim of the period that the purchase pays for; nil if it pays for no period.
        let period: StoreTransactionID?

        init(_ purchase: StorePurchase, period: StoreTransactionID? = nil) {
            transactionID = purchase.transactionID
            originalTransactionID = purchase.originalTransactionID
            self.period = period
        }
    }

    let decisions: [PendingDecision]
    let keys: [OutcomeKey]
    /// The index in `decisions` of each given decision. Two given decisions have the same index if one record was in
    /// flight twice.
    let slots: [Int]
    /// The claims to insert if the rules' verdicts stand: for each original transaction and each period, the claim of
    /// its first granted or held purchase. Sorted by id.
    let claims: [ClaimRow]
    /// The ids of all claims that the batch needs, sorted. They are the original transactions and periods of its
    /// purchases, the originals of the subscriptions that these purchases continue, and restored copies that the worker
    /// decides again.
    let originals: [StoreTransactionID]
    /// The subscriptions that the purchases continue.
    let following: Set<FindClaimApps.Following>
    let purchases: [Purchase]
    /// True if Apple shows a refund of one of the judged purchases.
    let showsRevocations: Bool
    /// The purchases that are periods of subscriptions.
    let periods: Set<PeriodPurchase>
    /// The counts of products with a daily limit.
    let limitedCounts: Set<DailyCount>
    let players: Set<PlayerID>
    /// The decisions that reject a whole submission. Grants that the submission won earlier stay.
    let refusedWhole: [PendingDecision]

    init(_ given: [PendingDecision]) {
        var decisions: [PendingDecision] = []
        var keys: [OutcomeKey] = []
        var slots: [Int] = []
        var known: [OutcomeKey: Int] = [:]
        known.reserveCapacity(given.count)
        for decision in given {
            let key = OutcomeKey(decision.position)
            let slot = known[key]
            slots.append(slot ?? decisions.count)
            guard slot == nil else { continue }
            known[key] = decisions.count
            decisions.append(decision)
            keys.append(key)
        }
        self.decisions = decisions
        self.keys = keys
        self.slots = slots
        var claims: [StoreTransactionID: ClaimRow] = [:]
        var originals: Set<StoreTransactionID> = []
        var purchases: [Purchase] = []
        purchases.reserveCapacity(decisions.count)
        var showsRevocations = decisions.contains { !$0.shown.isEmpty }
        var periods: Set<PeriodPurchase> = []
        var following: Set<FindClaimApps.Following> = []
        for decision in decisions {
            for told in decision.shown {
                purchases.append(Purchase(told.purchase, period: told.period))
                originals.formUnion([told.purchase.originalTransactionID, told.period].compactMap(\.self))
            }
            guard case .each(let judged) = decision.verdict else {
                // These purchases are only looked up, because a grant that this submission won earlier stays.
                purchases += decision.verdict.purchases.lazy.map { Purchase($0) }
                continue
            }
            // The loop uses indices, because copying a purchase out of the array copies everything that it refers to.
            for index in judged.indices {
                let purchase = Purchase(judged[index].purchase, period: decision.period(of: judged[index]))
                let original = purchase.originalTransactionID
                purchases.append(purchase)
                // A purchase with an unreadable id or product needs no claim: the event only lists it.
                if judged[index].verdict == .reject(.malformedReceipt) { continue }
                originals.insert(original)
                // A restored copy has a claim of its own if the database lost its published grant.
                if decision.isDecidedAgain, judged[index].isCopy { originals.insert(purchase.transactionID) }
                if let previous = judged[index].purchase.previousOriginalTransactionID {
                    originals.insert(previous)
                    following.insert(FindClaimApps.Following(previous: previous, app: decision.app))
                }
                if claims[original] == nil { claims[original] = ClaimRow(judged[index], of: decision) }
                if judged[index].purchase.cancelledAt != nil { showsRevocations = true }
                if let period = purchase.period {
                    originals.insert(period)
                    if claims[period] == nil { claims[period] = ClaimRow(judged[index], of: decision, period: period) }
                }
                if let period = PeriodPurchase(judged[index], in: decision.app) { periods.insert(period) }
            }
        }
        self.originals = originals.sorted()
        self.claims = self.originals.compactMap { claims[$0] }
        self.purchases = purchases
        self.showsRevocations = showsRevocations
        self.periods = periods
        self.following = following
        limitedCounts = Set(decisions.lazy.flatMap(\.limitedCounts))
        players = Set(decisions.lazy.map(\.submission.playerID))
        refusedWhole = decisions.filter {
            if case .whole = $0.verdict, $0.announced == nil { true } else { false }
        }
    }
}

extension DecisionBatch {
    /// `claims`, and claims without an owner for the subscriptions whose purchases the rules reject. If the rejected
    /// purchase's period is granted, that grant may show the subscription's owner.
    var claimsOfAll: [ClaimRow] {
        var rows = Dictionary(claims.map { ($0.original, $0) }, uniquingKeysWith: { first, _ in first })
        for decision in decisions {
            guard case .each(let judged) = decision.verdict else { continue }
            for one in judged where one.verdict != .reject(.malformedReceipt) && decision.period(of: one) != nil {
                let original = one.purchase.originalTransactionID
                if rows[original] == nil {
                    rows[original] = ClaimRow(original: original, player: nil, bundleID: decision.submission.bundleID)
                }
            }
        }
        return originals.compactMap { rows[$0] }
    }
}

extension ClaimRow {
    /// Returns nil if the rules reject the purchase, because a rejected purchase claims nothing.
    /// - Parameter period: the claim of the purchase's period; nil for the claim of its original transaction.
    fileprivate init?(_ judged: JudgedPurchase, of decision: PendingDecision, period: StoreTransactionID? = nil) {
        let isGrant: Bool
        switch judged.verdict {
        case .grant: isGrant = true
        case .hold: isGrant = false
        case .reject: return nil
        }
        self.init(
            original: period ?? judged.purchase.originalTransactionID, player: decision.submission.playerID,
            bundleID: decision.submission.bundleID,
            grantedTransaction: period != nil || isGrant && judged.kind == .nonConsumable
                ? judged.purchase.transactionID : nil)
    }
}

extension PendingDecision {
    /// The decision's approximate size in a batch, in bytes. Each granted event lists its submission's transactions.
    var approximateSize: Int {
        let count = verdict.purchaseCount
        let listed = min(count, OutcomeEvent.maximumListedTransactions)
        return 768 + count * (768 + listed * 96) + (holdsSomething ? submission.proof.length : 0)
    }

    private var holdsSomething: Bool {
        guard case .each(let judged) = verdict else { return false }
        return judged.contains { if case .hold = $0.verdict { true } else { false } }
    }
}
