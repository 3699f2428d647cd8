import Fulfillment

struct HoldKey: Hashable, Comparable {
    let transaction: StoreTransactionID
    let player: PlayerID

    static func < (one: HoldKey, other: HoldKey) -> Bool {
        (one.transaction, one.player) < (other.transaction, other.player)
    }
}

extension LeasedHold {
    var key: HoldKey { HoldKey(transaction: transactionID, player: submission.playerID) }
}

struct HoldRow {
    var purchase: StorePurchase
    let decision: PendingDecision
    let risk: [RiskSignal]
    var reason: Reason
    var waived: Set<Reason> = []
    var isReleased = false
    var dueAt: ContinuousClock.Instant?
    var catalogVersion: Int64
    var tries = 0
    var lease: Int64?
    var suspicion = LeaseSuspicion()

    init(_ hold: Settlement.NewHold, of decision: PendingDecision) {
        purchase = hold.purchase
        risk = hold.risk
        reason = hold.reason
        catalogVersion = decision.catalogVersion
        self.decision = decision
    }

    func leased(isDue: Bool, dailyCount: Int?, lease: Int64) -> LeasedHold {
        LeasedHold(
            transactionID: purchase.transactionID, originalTransactionID: purchase.originalTransactionID,
            productID: purchase.productID, reason: reason, waived: waived, isReleased: isReleased, isDue: isDue,
            submission: decision.submission, identity: decision.identity, position: decision.position,
            traceparent: decision.traceparent,
            evidence: GenuineReceipt(
                bundleID: decision.submission.bundleID, environment: decision.environment, purchases: [purchase]),
            dailyCount: dailyCount, tries: tries, lease: lease, risk: risk, heldAt: decision.decidedAt,
            announced: terms)
    }

    private var terms: AnnouncedTerms? {
        decision.announced.map {
            AnnouncedTerms(
                source: $0.source, isRenewal: $0.isRenewal, disputesOwner: waived.contains(.ownershipDisputed),
                isInGrace: $0.isInGrace)
        }
    }

    mutating func keep(for reason: Reason, catalogVersion version: Int64) {
        self.reason = reason
        catalogVersion = max(catalogVersion, version)
        isReleased = false
        dueAt = nil
        tries = 0
        lease = nil
        suspicion = LeaseSuspicion()
    }
}

extension InMemoryLedger: HeldPurchases {
    public func leaseDue(catalogVersion: Int64, limit: Int) async throws -> [LeasedHold] {
        state.update { $0.leaseHolds(catalogVersion: catalogVersion, limit: limit) }
    }

    public func hasSuspect(catalogVersion: Int64) async throws -> Bool {
        state.read { $0.suspectHold(catalogVersion: catalogVersion) != nil }
    }

    public func leaseSuspect(catalogVersion: Int64) async throws -> SuspectLease<LeasedHold, SetAsidePurchase> {
        state.update { state in
            guard let key = state.suspectHold(catalogVersion: catalogVersion), var row = state.holds[key]
            else { return .none }
            guard let deaths = row.suspicion.beginIsolation() else {
                return state.leaseHold(key, from: row).map { .isolated($0) } ?? .none
            }
            row.isReleased = false
            row.dueAt = nil
            state.holds[key] = row
            return .setAside(
                SetAsidePurchase(
                    transactionID: key.transaction, bundleID: row.decision.submission.bundleID,
                    source: row.decision.announced?.source ?? .submission, deaths: deaths))
        }
    }

    public func clearSuspicion(of hold: LeasedHold) async throws {
        state.update { $0.change(hold) { $0.suspicion.isIsolated = false } }
    }

    public func accuse(_ hold: LeasedHold) async throws {
        state.update { $0.change(hold) { $0.suspicion.isIsolated = true } }
    }

    public func keepHeld(_ holds: [(hold: LeasedHold, reason: Reason)], catalogVersion: Int64) async throws {
        state.update { state in
            for (hold, reason) in holds {
                state.change(hold) { $0.keep(for: reason, catalogVersion: catalogVersion) }
            }
        }
    }

    public func reschedule(_ hold: LeasedHold, dueAfterSeconds: Double) async throws {
        state.update { state in
            state.change(hold) { row in
                row.dueAt = ContinuousClock.now + .seconds(dueAfterSeconds)
                row.tries += 1
                row.lease = nil
                row.suspicion = LeaseSuspicion()
            }
        }
    }

    public func endLease(of hold: LeasedHold) async throws {
        state.update { state in
            state.change(hold) { row in
                row.lease = nil
                row.suspicion.released()
            }
        }
    }

    public func settle(_ decision: HoldDecision) async throws -> OutcomeEvent? {
        state.update { $0.settle(decision) }
    }

    /// Releases a hold, as an operator's `receiptd holds release` does.
    /// - Parameter player: the player; nil for all players with a hold on the transaction.
    public func releaseByOperator(_ transaction: StoreTransactionID, of player: PlayerID? = nil) {
        state.update { state in
            for (key, row) in state.holds where key.transaction == transaction && key.player == player ?? key.player {
                var released = row
                released.waived.insert(row.reason)
                released.isReleased = true
                released.dueAt = ContinuousClock.now
                released.lease = nil
                released.tries = 0
                released.suspicion = LeaseSuspicion()
                state.holds[key] = released
            }
        }
    }

    /// Ends all leases, as if all workers had died long ago.
    public func endHoldLeases() {
        state.update { state in
            for key in state.holds.keys { state.holds[key]?.lease = nil }
        }
    }
}

extension InMemoryLedger.State {
    mutating func enter(_ hold: Settlement.NewHold, of decision: PendingDecision) {
        let key = HoldKey(transaction: hold.purchase.transactionID, player: decision.submission.playerID)
        holds[key] = HoldRow(hold, of: decision)
    }

    fileprivate mutating func leaseHolds(catalogVersion: Int64, limit: Int) -> [LeasedHold] {
        let now = ContinuousClock.now
        let open = holds.filter { $0.value.lease == nil && !$0.value.suspicion.isSuspect }
        let due = open.filter { $0.value.dueAt.map { $0 <= now } ?? false }.keys.sorted()
        let outdated = open.filter {
            $0.value.dueAt == nil && $0.value.catalogVersion < catalogVersion && !$0.value.suspicion.isPoison
        }.keys.sorted()
        return (due + outdated).prefix(limit).compactMap { key in
            holds[key].flatMap { leaseHold(key, from: $0) }
        }
    }

    fileprivate func suspectHold(catalogVersion: Int64) -> HoldKey? {
        let now = ContinuousClock.now
        let suspects = holds.filter { _, row in
            row.lease == nil && row.suspicion.isSuspect
                && (row.dueAt.map { $0 <= now } ?? (row.catalogVersion < catalogVersion))
        }
        // Holds without a due time come last.
        return suspects.min { one, other in
            guard let mine = one.value.dueAt else { return false }
            return other.value.dueAt.map { mine < $0 } ?? true
        }?.key
    }

    fileprivate mutating func leaseHold(_ key: HoldKey, from changed: HoldRow) -> LeasedHold? {
        var row = changed
        let lease = nextLease()
        row.lease = lease
        row.suspicion.leases += 1
        holds[key] = row
        let count = row.reason == .dailyLimit ? view.dailyCounts[row.decision.dailyCount(of: row.purchase)] : nil
        return row.leased(isDue: row.dueAt != nil, dailyCount: count, lease: lease)
    }

    /// Changes the row if the worker still has the lease.
    fileprivate mutating func change(_ hold: LeasedHold, _ body: (inout HoldRow) -> Void) {
        guard var row = holds[hold.key], row.lease == hold.lease else { return }
        body(&row)
        holds[hold.key] = row
    }

    /// Deletes the claim on the hold's original transaction, unless this transaction has a grant, or the player has
    /// another hold of it.
    private mutating func freeClaim(of hold: LeasedHold) {
        let isGranted = refunds.grants.values.contains { $0.originalTransactionID == hold.originalTransactionID }
        let player = hold.submission.playerID
        let isHeld = holds.contains { key, row in
            key.player == player && row.purchase.originalTransactionID == hold.originalTransactionID
                && row.reason != .ownershipDisputed
        }
        if !isGranted, !isHeld, view.claims[hold.originalTransactionID]?.player == player {
            view.claims[hold.originalTransactionID]?.player = nil
        }
        guard view.grants[hold.transactionID] == nil else { return }
        let periods = view.claims.filter {
            PeriodIdentity.isPeriod($0.key) && $0.value.grantedTransaction == hold.transactionID
                && $0.value.player == player
        }
        for period in periods.keys { view.claims[period] = LedgerView.Claim(player: nil) }
    }

    mutating func endHolds(of decision: PendingDecision, _ settlement: Settlement) {
        for transaction in settlement.endedHolds {
            holds[HoldKey(transaction: transaction, player: decision.submission.playerID)] = nil
        }
    }

    fileprivate mutating func settle(_ decision: HoldDecision) -> OutcomeEvent? {
        let hold = decision.hold
        guard let row = holds[hold.key], row.lease == hold.lease else { return nil }
        let player = hold.submission.playerID
        let held = view.holds[hold.transactionID]?[player]
        let partition = InMemoryLedger.Partition(topic: hold.position.topic, number: hold.position.partition)
        switch decision.settle(in: &view) {
        case .granted(let grant):
            holds[hold.key] = nil
            view.grants[hold.transactionID]?.event = grant.event.value
            enter(grant, of: decision.decision)
            if grant.purchase.originalTransactionID != hold.originalTransactionID { freeClaim(of: hold) }
            announced.claim([grant.purchase], isGrant: true)
            outbox.append(OutboxRow(grant.event, traceparent: hold.traceparent, of: partition))
            _ = hear(decision.decision, [decision.outcome(ofGranted: grant.purchase)])
            return grant.event
        case .rejected(let event):
            holds[hold.key] = nil
            freeClaim(of: hold)
            if view.grants[hold.transactionID] == nil, view.holds[hold.transactionID] == nil {
                announced.reopen(
                    hold.transactionID, refusedFor: decision.reasonAgainstAnybody(after: event.reason))
            }
            outbox.append(OutboxRow(event, traceparent: hold.traceparent, of: partition))
            return event
        case .held(let reason):
            view.holds[hold.transactionID, default: [:]][player] = LedgerView.Hold(
                reason: reason, isBound: held?.isBound ?? false)
            if hold.reason == .ownershipDisputed, reason != .ownershipDisputed, let judged = decision.judged {
                view.enterPeriod(of: judged, decision: decision.decision)
            }
            change(hold) { $0.keep(for: reason, catalogVersion: decision.decision.catalogVersion) }
        case .notTold:
            view.holds[hold.transactionID, default: [:]][player] = held
            change(hold) { $0.keep(for: hold.reason, catalogVersion: decision.decision.catalogVersion) }
        }
        return nil
    }
}
