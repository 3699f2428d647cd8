import Fulfillment

struct HoldRow {
    let purchase: StorePurchase
    let decision: PendingDecision
    let risk: [RiskSignal]
    var reason: Reason
    var waived: Set<Reason> = []
    var isReleased = false
    var dueAt: ContinuousClock.Instant?
    var catalogVersion: Int64
    var tries = 0
    var lease: Int64?

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
            dailyCount: dailyCount, tries: tries, lease: lease, risk: risk, announced: terms)
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
    }
}

extension InMemoryLedger: HeldPurchases {
    public func leaseDue(catalogVersion: Int64, limit: Int) async throws -> [LeasedHold] {
        state.update { $0.leaseHolds(catalogVersion: catalogVersion, limit: limit) }
    }

    /// Nobody dies in memory.
    public func hasSuspect(catalogVersion: Int64) async throws -> Bool { false }

    public func leaseSuspect(catalogVersion: Int64) async throws -> SuspectLease<LeasedHold, SetAsidePurchase> { .none }

    public func clearSuspicion(of hold: LeasedHold) async throws {}

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
            }
        }
    }

    public func endLease(of hold: LeasedHold) async throws {
        state.update { $0.change(hold) { $0.lease = nil } }
    }

    public func settle(_ decision: HoldDecision) async throws -> OutcomeEvent? {
        state.update { $0.settle(decision) }
    }

    /// An operator's release, as `receiptd holds release` gives it.
    public func releaseByOperator(_ transaction: StoreTransactionID) {
        state.update { state in
            guard let reason = state.holds[transaction]?.reason else { return }
            state.holds[transaction]?.waived.insert(reason)
            state.holds[transaction]?.isReleased = true
            state.holds[transaction]?.dueAt = ContinuousClock.now
            state.holds[transaction]?.lease = nil
        }
    }

    /// As if all workers had died long ago.
    public func endHoldLeases() {
        state.update { state in
            for transaction in state.holds.keys { state.holds[transaction]?.lease = nil }
        }
    }
}

extension InMemoryLedger.State {
    fileprivate mutating func leaseHolds(catalogVersion: Int64, limit: Int) -> [LeasedHold] {
        let now = ContinuousClock.now
        let open = holds.filter { $0.value.lease == nil }
        let due = open.filter { $0.value.dueAt.map { $0 <= now } ?? false }.keys.sorted()
        let outdated = open.filter { $0.value.dueAt == nil && $0.value.catalogVersion < catalogVersion }.keys.sorted()
        return (due + outdated).prefix(limit).compactMap { transaction in
            let lease = nextLease()
            holds[transaction]?.lease = lease
            guard let row = holds[transaction] else { return nil }
            let count = row.reason == .dailyLimit ? view.dailyCounts[row.decision.dailyCount(of: row.purchase)] : nil
            return row.leased(isDue: row.dueAt != nil, dailyCount: count, lease: lease)
        }
    }

    /// Nothing where the lease is over.
    fileprivate mutating func change(_ hold: LeasedHold, _ body: (inout HoldRow) -> Void) {
        guard var row = holds[hold.transactionID], row.lease == hold.lease else { return }
        body(&row)
        holds[hold.transactionID] = row
    }

    fileprivate mutating func settle(_ decision: HoldDecision) -> OutcomeEvent? {
        let hold = decision.hold
        guard let row = holds[hold.transactionID], row.lease == hold.lease else { return nil }
        let held = view.holds[hold.transactionID]
        let partition = InMemoryLedger.Partition(topic: hold.position.topic, number: hold.position.partition)
        switch decision.settle(in: &view) {
        case .granted(let grant):
            holds[hold.transactionID] = nil
            view.grants[hold.transactionID]?.event = grant.event.value
            enter(grant, of: decision.decision)
            announced.claim([grant.purchase], isGrant: true)
            outbox.append(OutboxRow(grant.event, traceparent: hold.traceparent, of: partition))
            _ = hear(decision.decision, [decision.outcome(ofGranted: grant.purchase)])
            return grant.event
        case .rejected(let event):
            holds[hold.transactionID] = nil
            let isGranted = refunds.grants.values.contains { $0.originalTransactionID == hold.originalTransactionID }
            if !isGranted { view.claims[hold.originalTransactionID]?.player = nil }
            if view.grants[hold.transactionID] == nil {
                announced.reopen(
                    hold.transactionID, refusedFor: decision.reasonAgainstAnybody(after: event.reason))
            }
            outbox.append(OutboxRow(event, traceparent: hold.traceparent, of: partition))
            return event
        case .held(let reason):
            view.holds[hold.transactionID] = LedgerView.Hold(player: hold.submission.playerID, reason: reason)
            change(hold) { $0.keep(for: reason, catalogVersion: decision.decision.catalogVersion) }
        case .notTold:
            view.holds[hold.transactionID] = held
            change(hold) { $0.keep(for: hold.reason, catalogVersion: decision.decision.catalogVersion) }
        }
        return nil
    }
}
