import Fulfillment
import NamesAndTimes
import PlantedFaults
import Postgres

/// Writes one batch in one SQL transaction (READ COMMITTED). It inserts claims and sightings of devices, and locks the
/// claims that already existed. Then later statements read the facts under these claims, because a statement cannot see
/// a row with which its INSERT conflicted. Last it settles the decisions and writes them. The rows that INSERT returns
/// show which of two SQL transactions won.
struct DecisionBatchWrite: Sendable {
    enum LookUp: Sendable {
        /// Reads grants only under claims that already existed, because every grant has a claim.
        case underOldClaims
        /// Reads everything, and inserts a claim for each purchase. Used after `Undone.unknownGrant`.
        case everything
    }

    /// The reason why the transaction was rolled back although no statement failed.
    enum Undone: Error {
        /// PostgreSQL has a grant or a hold that the batch's queries had not found, or the owner of a subscription for
        /// which the batch had inserted no claim. Or a claim was deleted before the batch had locked it.
        case unknownGrant
        case decidedBefore
        /// An INSERT without `ON CONFLICT` met an existing row. A second try with `looksForConflicts` finds the row.
        case conflict
    }

    /// The most bytes of evidence that the ledger stores for a proof. If a receipt has more, the worker sends it to
    /// Apple again.
    static let maximumEvidenceBytes = 65_536

    let batch: DecisionBatch
    let lookUp: LookUp
    let acknowledged: [NameBasedUUID]
    let writer: Int32
    /// The longest wait for a lock; nil for the session's limit.
    var lockMilliseconds: Int?
    /// True if the statement for grants and outcomes has `ON CONFLICT DO NOTHING`.
    var looksForConflicts = false

    /// The result of a committed batch.
    struct Written: Sendable {
        /// Each decision's events in publishing order, in the order of `batch.decisions`.
        let events: [[OutcomeEvent]]
        let replaying: [ReplayingPlayer]
        /// The app of each token that this batch found to be a constant in the app's client.
        let constantTokens: [BundleID]
        /// The purchases that this batch holds because their token belongs to another player.
        let disputedTokens: [DisputedToken]
        /// The history of the database that committed the batch.
        let history: DatabaseHistory?
    }

    /// A settled batch. All its rows are written, except the outcomes and `unwritten`.
    struct Settled {
        /// The settlements in the order of `batch.decisions`.
        let settlements: [Settlement]
        let view: LedgerView
        let constantTokens: [BundleID]
        /// For each decision of `batch.decisions`, the refunds that Apple's answers show and whose grants are still in
        /// force.
        let shown: [[RefundNotice]]
        /// The subscriptions' events, by the index of the decision that caused them. They are in the outbox.
        let subscriptions: [Int: [OutcomeEvent]]
        /// The rows to write together with the outcomes; nil if there are none.
        let unwritten: PurchaseRows?
    }

    func run(in session: PostgresSession, _ fallBacks: FallBackWatch) throws -> Written {
        try session.transaction(lockMilliseconds: lockMilliseconds) { session in
            let written = try write(in: session)
            // Behind a pooler, another server may answer on an old connection.
            if fallBacks.isOfOtherLife(written.history) { throw FallBackWatch.FellBack(history: written.history) }
            return written
        }
    }

    private var claims: [ClaimRow] { lookUp == .everything ? batch.claimsOfAll : batch.claims }

    /// Settles and writes the batch in the caller's SQL transaction.
    func write(in session: PostgresSession) throws -> Written {
        let settled = try settle(in: session, joinsGrants: true)
        try DeleteParked.run(batch.decisions.compactMap(\.parkedID), in: session)
        let replaying = try CountReplays.run(batch.decisions, settled.settlements, in: session)
        var (outcomes, events) = outcomes(of: settled.settlements, in: settled.view)
        // An event that takes back goods of an earlier decision goes before the submission's own events.
        let new =
            batch.showsRevocations
            ? Set(settled.settlements.lazy.flatMap(\.grants).map(\.purchase.transactionID)) : []
        let earlier = settled.shown.map { $0.filter { !new.contains($0.transactionID) } }
        for (index, event) in try revoke(earlier, claims: settled.view.claims, in: session) {
            events[index].insert(event, at: 0)
        }
        try ShownRefunds.enter(batch.decisions.flatMap(\.revocationsShown), in: session)
        let inserted = try insert(outcomes, with: settled.unwritten, in: session)
        guard inserted.count == batch.decisions.count else { throw Undone.decidedBefore }
        let later = settled.shown.map { $0.filter { new.contains($0.transactionID) } }
        for (index, event) in try revoke(later, claims: settled.view.claims, in: session) {
            events[index].append(event)
        }
        for (place, told) in settled.subscriptions { events[place] += told }
        #if DEBUG
            if PlantedFault.eventBeforeCommit.isPlanted, batch.decisions.count > 1 {
                throw Unwritten(events: events)
            }
        #endif
        let disputes = zip(batch.decisions, settled.settlements).flatMap { $0.disputedTokens(in: $1, settled.view) }
        return Written(
            events: events, replaying: replaying, constantTokens: settled.constantTokens, disputedTokens: disputes,
            history: inserted.history)
    }

    /// Settles the batch in the caller's SQL transaction, and writes all rows except the outcomes.
    /// - Parameter joinsGrants: true if one later statement may write the grants together with the outcomes.
    func settle(in session: PostgresSession, joinsGrants: Bool = false) throws -> Settled {
        let (fresh, risk) = try InsertClaims.run(claims, with: FindRisk(for: batch.decisions), in: session)
        var view = try look(fresh: fresh, in: session)
        try RevisionFloor.find(for: &view, ifShown: batch.showsRevocations, in: session)
        view.dailyCounts = try CountDays.run(batch.limitedCounts, in: session)
        view.risk = risk
        view.tokens = try AccountTokens.find(for: batch.decisions, in: session)
        let tokensBefore = view.tokens
        let claimsBefore = view.claims
        var (shown, settlements): ([[RefundNotice]], [Settlement]) = ([], [])
        for decision in batch.decisions {
            // Apple's answer may show the refund of a purchase that this batch has just granted.
            let refunds = decision.refundsShownByPurchases(in: view)
            settlements.append(decision.settle(in: &view))
            shown.append(refunds + decision.refundsShownBeside(in: view))
        }
        try changeClaims(fresh: fresh, before: claimsBefore, after: view.claims, in: session)
        let purchases = PurchaseRows(batch.decisions, settlements, newClaims: fresh)
        let undelivered = UndeliveredRows(batch.decisions, settlements)
        // Grants join the outcomes only if no statement writes between them, because every writer locks rows in one
        // order.
        let joins =
            joinsGrants && purchases.areWholeGrants && view.tokens == tokensBefore && !batch.showsRevocations
            && batch.decisions.allSatisfy { $0.parkedID == nil && $0.subscriptions.facts.isEmpty }
            && !settlements.contains(where: \.isReplay) && undelivered.isEmpty
        if !joins { try purchases.insert(in: session) }
        if !undelivered.isEmpty { try undelivered.write(in: session) }
        let subscriptions = try SubscriptionWrite.write(
            batch.decisions, outcomes: { settlements[$0].outcomes }, repeated: { settlements[$0].repeated },
            claims: view.claims, in: session)
        let constantTokens = try AccountTokens.write(before: tokensBefore, after: view.tokens, in: session)
        return Settled(
            settlements: settlements, view: view, constantTokens: constantTokens, shown: shown,
            subscriptions: subscriptions, unwritten: joins ? purchases : nil)
    }

    private func insert(
        _ outcomes: InsertOutcomes, with purchases: PurchaseRows?, in session: PostgresSession
    ) throws -> (count: Int, history: DatabaseHistory?) {
        guard let purchases else { return try outcomes.run(writer: writer, in: session) }
        let inserted = try InsertGrantsAndOutcomes.run(
            purchases, outcomes, writer: writer, looks: looksForConflicts, in: session)
        guard inserted.granted == purchases.grants.count else { throw Undone.unknownGrant }
        return (inserted.decided, inserted.history)
    }

    #if DEBUG
        /// A planted fault: the caller gets the events although the transaction was rolled back.
        struct Unwritten: Error {
            let events: [[OutcomeEvent]]
        }
    #endif

    private func look(fresh: Set<StoreTransactionID>, in session: PostgresSession) throws -> LedgerView {
        var view = LedgerView()
        if fresh.count < batch.originals.count {
            view.claims = try LockClaims.run(batch.originals.filter { !fresh.contains($0) }, in: session)
        }
        guard claims.allSatisfy({ fresh.contains($0.original) || view.claims[$0.original] != nil }) else {
            throw Undone.unknownGrant
        }
        var wanted = Set(view.claims.values.compactMap(\.grantedTransaction))
        // A stored refund always has the claim of its original, even before the grant. So a purchase with a new claim
        // has no refund.
        var refundable: Set<StoreTransactionID> = []
        for purchase in batch.purchases
        where lookUp == .everything || !fresh.contains(purchase.originalTransactionID) {
            wanted.insert(purchase.transactionID)
            // The original's grant matters too, because a restored copy is not granted beside its original.
            if purchase.period == nil { wanted.insert(purchase.originalTransactionID) }
            refundable.formUnion([purchase.transactionID, purchase.originalTransactionID])
        }
        // A stored refund of a period always has the period's claim too.
        let claimedPeriods = Set(batch.purchases.compactMap(\.period)).filter {
            lookUp == .everything || !fresh.contains($0)
        }
        let transactions = wanted.sorted()
        view.grants = try FindGrants.run(
            transactions, submissions: batch.decisions.lazy.map(\.identity), in: session)
        try FindHolds.run(
            transactions, players: batch.players, refundable: refundable.sorted(), periods: claimedPeriods.sorted(),
            into: &view, in: session)
        try FindClaimApps.run(batch.following, into: &view, in: session)
        let periods = batch.periods.filter { purchase in
            lookUp == .everything || !fresh.contains(purchase.period.originalTransactionID)
                || purchase.previousOriginalTransactionID.map { view.claims[$0] != nil } ?? false
        }
        try FindGrantedPeriods.run(of: periods, into: &view, in: session)
        for original in view.claims.keys { view.freeRevoked(original) }
        view.won = try FindWonGrants.run(batch.refusedWhole, in: session)
        return view
    }

    private func changeClaims(
        fresh: Set<StoreTransactionID>, before: [StoreTransactionID: LedgerView.Claim],
        after: [StoreTransactionID: LedgerView.Claim], in session: PostgresSession
    ) throws {
        var unused: [StoreTransactionID] = []
        var changed: [(original: StoreTransactionID, claim: LedgerView.Claim)] = []
        for row in claims where fresh.contains(row.original) {
            guard let claim = after[row.original] else {
                unused.append(row.original)
                continue
            }
            if claim != LedgerView.Claim(player: row.player, grantedTransaction: row.grantedTransaction) {
                changed.append((row.original, claim))
            }
        }
        for (original, claim) in after where !fresh.contains(original) {
            guard let known = before[original] else {
                // The settlement found the owner of a rejected copy's subscription, but this batch has inserted no
                // claim for that subscription. A second try with `.everything` inserts the claim. If the claim is
                // missing in that try too, the purchase has an unreadable id or product.
                if claim.player != nil, lookUp != .everything { throw Undone.unknownGrant }
                continue
            }
            if known != claim { changed.append((original, claim)) }
        }
        changed.sort { $0.original < $1.original }
        try ChangeClaims.run(update: changed, delete: unused, in: session)
    }

    /// Revokes grants whose refunds Apple's answers show, as if Apple's notifications had reported these refunds.
    /// Returns each event with the index of its decision.
    /// - Parameter shown: the refunds of each decision.
    private func revoke(
        _ shown: [[RefundNotice]], claims: [StoreTransactionID: LedgerView.Claim], in session: PostgresSession
    ) throws -> [(index: Int, event: OutcomeEvent)] {
        let refunds = zip(batch.decisions.indices, shown).flatMap { index, notices in
            let decision = batch.decisions[index]
            return notices.map { notice in
                (
                    index,
                    TakenRefund(
                        notice, at: decision.decidedAt, topic: decision.position.topic,
                        partition: decision.position.partition, traceparent: decision.traceparent)
                )
            }
        }
        let effects = try RefundWrite(
            refunds: refunds.map(\.1), claims: claims, catalog: Catalog(version: 0, apps: [])
        ).run(in: session)
        return zip(refunds, effects).compactMap { refund, effect in
            if case .published(let event) = effect { (refund.0, event) } else { nil }
        }
    }
}
