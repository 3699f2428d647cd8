import Fulfillment
import NamesAndTimes
import Postgres

/// Ends one hold in one SQL transaction, in the same order as a batch: it locks the claims, then the hold's row, reads
/// the facts, settles the decision and writes it. The rows that INSERT returns show which of two SQL transactions won.
package struct HoldWrite: Sendable {
    package enum Ending: Sendable {
        case published(OutcomeEvent)
        case held
        /// The lease is over, or the hold has already ended. Nothing was changed.
        case gone
    }

    /// The SQL transaction was rolled back although no statement failed: its rows conflicted with a row that its
    /// queries had not found.
    struct Undone: Error {}

    private static let lockingHold = LedgerSQL.statement(PackageResources.lock_hold_sql)
    private static let freeingClaim = LedgerSQL.statement(PackageResources.free_claim_sql)
    private static let refusing = LedgerSQL.statement(PackageResources.insert_refusal_sql)
    private static let reopening = LedgerSQL.statement(PackageResources.reopen_announced_purchase_sql)

    let decision: HoldDecision
    /// The operator who refuses the hold; nil if the rules decide. An operator needs no lease.
    let operatorName: String?

    package init(decision: HoldDecision, operatorName: String?) {
        self.decision = decision
        self.operatorName = operatorName
    }

    private var hold: LeasedHold { decision.hold }
    private var player: PlayerID { hold.submission.playerID }
    private var key: [PostgresParameter] { [.text(hold.transactionID.text), .text(player.text)] }
    /// The original transaction in Apple's present answer. It may differ from the hold's original.
    private var toldOriginal: StoreTransactionID {
        decision.judged?.purchase.originalTransactionID ?? hold.originalTransactionID
    }

    package func run(in session: PostgresSession) throws -> Ending {
        try session.transaction { session in
            var claims = try lockClaims(in: session)
            guard try lockHold(in: session) else { return .gone }
            let claim = try claims[hold.originalTransactionID] ?? makeClaim(in: session)
            claims[hold.originalTransactionID] = claim
            var view = LedgerView(claims: claims)
            try look(into: &view, in: session)
            let shown = decision.decision.refundsShownByPurchases(in: view)
            try revoke(shown + decision.decision.refundsShownBeside(in: view), claims: view.claims, in: session)
            try ShownRefunds.enter(decision.decision.revocationsShown, in: session)
            let tokens = view.tokens
            switch decision.settle(in: &view) {
            case .granted(let grant):
                try EndHold.run(hold.transactionID, of: player, in: session)
                let row = GrantRow(grant: grant, decision: decision.decision)
                guard try InsertGrants.run([row], in: session) == 1 else { throw Undone() }
                try change(claims, to: view, in: session)
                if toldOriginal != hold.originalTransactionID { try freeClaim(in: session) }
                _ = try AccountTokens.write(before: tokens, after: view.tokens, in: session)
                try publish(grant.event, in: session)
                let refunds = decision.decision.refundsShownBeside(in: view).filter {
                    $0.transactionID == hold.transactionID
                }
                try revoke(refunds, claims: view.claims, in: session)
                try publishFollowing(grant, claims: view.claims, in: session)
                return .published(grant.event)
            case .rejected(let event):
                if let operatorName {
                    try session.execute(
                        Self.refusing,
                        key + [.text(operatorName), .uuid(event.eventID.stored)])
                }
                try EndHold.run(hold.transactionID, of: player, in: session)
                try freeClaim(in: session)
                try freePeriod(of: claims, in: view, session)
                let ending = decision.reasonAgainstAnybody(after: event.reason)
                try session.execute(Self.reopening, [.text(hold.transactionID.text), .text(ending?.rawValue)])
                if operatorName == nil, let refused = decision.undelivered(refusedFor: event.reason) {
                    let row = UndeliveredRows.Row(
                        purchase: refused, player: player, bundleID: hold.submission.bundleID)
                    try UndeliveredRows(row).write(in: session)
                }
                try publish(event, in: session)
                if operatorName != nil { try HandOverEvents.run([event.eventID], in: session) }
                return .published(event)
            case .held(let reason):
                if reason != .ownershipDisputed, claim.player == nil {
                    // A disputed hold claims nothing. When it gets another reason, its player claims the original
                    // transaction.
                    view.claims[hold.originalTransactionID]?.player = player
                    if let judged = decision.judged { view.enterPeriod(of: judged, decision: decision.decision) }
                    try change(claims, to: view, in: session)
                }
                let unreadable = reason == .unreadableTransaction ? decision.judged?.purchase.unreadable : nil
                try UpdateHolds.run(
                    [
                        UpdateHolds.Row(
                            hold: hold, reason: reason, note: UpdateHolds.note(unreadable: unreadable ?? []),
                            period: reason == .ownershipDisputed ? nil : period)
                    ], catalogVersion: decision.decision.catalogVersion, in: session)
                return .held
            case .notTold:
                try UpdateHolds.run(
                    [UpdateHolds.Row(hold: hold, reason: hold.reason, note: UpdateHolds.notTold)],
                    catalogVersion: decision.decision.catalogVersion, in: session)
                return .held
            }
        }
    }

    /// Inserts the events that follow the grant's event into the outbox, and marks them as handed over. The worker
    /// itself publishes only the grant's event.
    private func publishFollowing(
        _ grant: Settlement.NewGrant, claims: [StoreTransactionID: LedgerView.Claim], in session: PostgresSession
    ) throws {
        var events: [OutcomeEvent] = []
        if let revocation = grant.revocation {
            try RevokeGrants.run([revocation.grant], in: session)
            if let event = revocation.event {
                try publish(event, in: session)
                events.append(event)
            }
        }
        let outcome = decision.outcome(ofGranted: grant.purchase)
        events += try SubscriptionWrite.write(
            [decision.decision], outcomes: { _ in [outcome] }, claims: claims, in: session
        ).values.joined()
        try HandOverEvents.run(events.map(\.eventID), in: session)
    }

    /// The ids of the claims that the decision needs: the hold's stored original, the purchase's original in Apple's
    /// answer, the original of the subscription that the purchase continues, and the purchase's period; also the
    /// originals and periods of the refunds that Apple shows.
    private var originals: Set<StoreTransactionID> {
        let shown = decision.decision.revocationsShown
        let own = [
            hold.originalTransactionID, toldOriginal, decision.judged?.purchase.previousOriginalTransactionID, period,
        ]
        return Set(shown.map(\.purchase.originalTransactionID) + shown.compactMap(\.period) + own.compactMap(\.self))
    }

    /// The id under which `claims` has the subscription period that the purchase pays for, according to Apple's present
    /// answer; nil if the purchase pays for no period.
    private var period: StoreTransactionID? { decision.judged.flatMap { decision.decision.period(of: $0) } }

    /// Locks the claims that the decision needs. Apple's answer may name an original or a period under which the hold
    /// was not stored. Inserts the claims of these two first, as a batch does, without an owner until the settlement
    /// sets one.
    private func lockClaims(in session: PostgresSession) throws -> [StoreTransactionID: LedgerView.Claim] {
        let held = try FindOriginals.run([hold.transactionID], in: session)
        let all = originals.union(held).sorted()
        let told = Set([toldOriginal, period].compactMap(\.self)).subtracting(held)
            .subtracting([hold.originalTransactionID]).sorted()
        guard !told.isEmpty else { return try LockClaims.run(all, in: session) }
        _ = try InsertClaims.run(
            told.map {
                ClaimRow(original: $0, player: nil, bundleID: hold.submission.bundleID, grantedTransaction: nil)
            }, in: session)
        let claims = try LockClaims.run(all, in: session)
        guard told.allSatisfy({ claims[$0] != nil }) else { throw Undone() }
        return claims
    }

    /// Removes the owner of the period that the hold claimed, unless the transaction was granted meanwhile.
    private func freePeriod(
        of claims: [StoreTransactionID: LedgerView.Claim], in view: LedgerView, _ session: PostgresSession
    ) throws {
        guard view.grants[hold.transactionID] == nil else { return }
        let held = claims.filter {
            PeriodIdentity.isPeriod($0.key) && $0.value.grantedTransaction == hold.transactionID
                && $0.value.player == player
        }
        let freed = held.keys.sorted().map { (original: $0, claim: LedgerView.Claim(player: nil)) }
        try ChangeClaims.run(update: freed, delete: [], in: session)
    }

    /// Removes the owner of the original transaction that the hold claimed, unless another row of the player needs the
    /// claim.
    private func freeClaim(in session: PostgresSession) throws {
        try session.execute(Self.freeingClaim, [.text(hold.originalTransactionID.text), .text(player.text)])
    }

    /// Revokes grants whose refunds Apple's answers show, as if Apple's notifications had reported these refunds.
    /// Inserts the events into the outbox.
    private func revoke(
        _ notices: [RefundNotice], claims: [StoreTransactionID: LedgerView.Claim], in session: PostgresSession
    ) throws {
        let refunds = notices.map { notice in
            TakenRefund(
                notice, at: decision.decision.decidedAt, topic: hold.position.topic, partition: hold.position.partition,
                traceparent: hold.traceparent)
        }
        let effects = try RefundWrite(
            refunds: refunds, claims: claims, catalog: Catalog(version: 0, apps: [])
        ).run(in: session)
        try HandOverEvents.run(
            effects.compactMap { if case .published(let event) = $0 { event.eventID } else { nil } }, in: session)
    }

    /// Inserts the claim of the hold, because somebody has deleted it.
    private func makeClaim(in session: PostgresSession) throws -> LedgerView.Claim {
        let row = ClaimRow(
            original: hold.originalTransactionID, player: hold.reason == .ownershipDisputed ? nil : player,
            bundleID: hold.submission.bundleID, grantedTransaction: nil)
        guard try !InsertClaims.run([row], in: session).isEmpty else { throw Undone() }
        return LedgerView.Claim(player: row.player)
    }

    private func lockHold(in session: PostgresSession) throws -> Bool {
        let rows = try session.execute(
            Self.lockingHold,
            key + [
                .uuid(hold.identity.stored), .timestamptz(unixMicroseconds: operatorName == nil ? hold.lease : nil),
            ])
        return rows.count == 1
    }

    private func look(into view: inout LedgerView, in session: PostgresSession) throws {
        let shown = decision.decision.revocationsShown.map(\.purchase.transactionID)
        let named = view.claims.values.compactMap(\.grantedTransaction)
        let wanted = Set([hold.transactionID, toldOriginal] + named + shown)
        view.grants = try FindGrants.run(wanted.sorted(), submissions: [hold.identity], in: session)
        for original in view.claims.keys { view.freeRevoked(original) }
        let refundable = Set([hold.transactionID, hold.originalTransactionID, toldOriginal])
        // Another player may have a hold of the transaction, and another transaction may claim its period.
        let held = Set([hold.transactionID, period.flatMap { view.claims[$0]?.grantedTransaction }].compactMap(\.self))
        try FindHolds.run(
            held.sorted(), players: [player], refundable: refundable.sorted(), periods: [period].compactMap(\.self),
            into: &view, in: session)
        // A refused transaction is never held again. So these refusals are of the period or another id, and do not end
        // this hold.
        view.refusals = [:]
        if let judged = decision.judged {
            try RevisionFloor.find(for: &view, ifShown: judged.purchase.cancelledAt != nil, in: session)
            if let previous = judged.purchase.previousOriginalTransactionID {
                try FindClaimApps.run(
                    [FindClaimApps.Following(previous: previous, app: decision.decision.app)], into: &view, in: session)
            }
            try FindGrantedPeriods.run(
                of: [PeriodPurchase(judged, in: decision.decision.app)].compactMap(\.self), into: &view, in: session)
            if judged.dailyLimit != nil {
                view.dailyCounts = try CountDays.run([decision.decision.dailyCount(of: judged.purchase)], in: session)
            }
        }
        // Tokens are locked after the daily counts, as in a batch.
        view.tokens = try AccountTokens.find(for: [decision.decision], in: session)
    }

    /// Writes the claims that the settlement changed.
    /// - Parameter claims: the claims before the settlement.
    private func change(
        _ claims: [StoreTransactionID: LedgerView.Claim], to view: LedgerView, in session: PostgresSession
    ) throws {
        var changed: [(original: StoreTransactionID, claim: LedgerView.Claim)] = []
        for original in Set([hold.originalTransactionID, toldOriginal, period].compactMap(\.self)).sorted() {
            if let now = view.claims[original], now != claims[original] { changed.append((original, now)) }
        }
        try ChangeClaims.run(update: changed, delete: [], in: session)
    }

    private func publish(_ event: OutcomeEvent, in session: PostgresSession) throws {
        try InsertOutboxEvent.run(
            event, topic: hold.position.topic, partition: hold.position.partition, traceparent: hold.traceparent,
            in: session)
    }
}
