import Fulfillment
import NamesAndTimes

/// Decisions on their way into one transaction, each record once, with what they touch, sorted.
struct DecisionBatch: Sendable {
    struct Purchase: Sendable {
        let transactionID: StoreTransactionID
        let originalTransactionID: StoreTransactionID
        /// The claim of the period that it pays for.
        let period: StoreTransactionID?

        init(_ purchase: StorePurchase, period: StoreTransactionID? = nil) {
            transactionID = purchase.transactionID
            originalTransactionID = purchase.originalTransactionID
            self.period = period
        }
    }

    let decisions: [PendingDecision]
    let keys: [OutcomeKey]
    /// The index in `decisions` of each given decision: a record can be in flight twice.
    let slots: [Int]
    /// Claims that the rules would make, one for each original transaction and period, by the first that would.
    let claims: [ClaimRow]
    /// Original transactions of every purchase, and of the subscriptions that they go on from; periods; and restored copies that are
    /// decided again.
    let originals: [StoreTransactionID]
    /// The subscriptions that purchases continue.
    let following: Set<FindClaimApps.Following>
    let purchases: [Purchase]
    /// Whether Apple shows any of them as taken back.
    let showsRevocations: Bool
    /// The purchases that are periods of subscriptions.
    let periods: Set<PeriodPurchase>
    /// The counts of products with a daily limit.
    let limitedCounts: Set<DailyCount>
    let players: Set<PlayerID>
    /// Submissions that are refused as a whole: what they won before is theirs still.
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
        var showsRevocations = false
        var periods: Set<PeriodPurchase> = []
        var following: Set<FindClaimApps.Following> = []
        for decision in decisions {
            for told in decision.shown {
                purchases.append(Purchase(told.purchase, period: told.period))
                originals.formUnion([told.purchase.originalTransactionID, told.period].compactMap(\.self))
            }
            guard case .each(let judged) = decision.verdict else {
                // Only looked up: what this very submission won earlier stays won.
                purchases += decision.verdict.purchases.lazy.map { Purchase($0) }
                continue
            }
            // The places of purchases: a purchase that is taken out is copied with all that it refers to.
            for index in judged.indices {
                let purchase = Purchase(judged[index].purchase, period: decision.period(of: judged[index]))
                let original = purchase.originalTransactionID
                purchases.append(purchase)
                // A purchase without a readable name is listed, and claims nothing.
                if judged[index].verdict == .reject(.malformedReceipt) { continue }
                originals.insert(original)
                // Where its grant was published and is lost, it has a claim of its own.
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
    /// `claims`, and one without an owner for each subscription of which a purchase is rejected: the period's grant may
    /// show its owner.
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
    /// Returns nil if the rules reject the purchase, which then claims nothing.
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
    /// Bytes that it brings into a batch, roughly: each granted event lists its submission's transactions.
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
