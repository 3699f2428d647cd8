import Fulfillment
import NamesAndTimes
import Synchronization

/// A ledger in memory. With equal rows it gives the same settlements as PostgreSQL.
public final class InMemoryLedger: PurchaseLedger {
    struct State {
        var view = State.emptyView
        var outcomes: [RecordPosition: [OutcomeEvent]] = [:]
        var proofs: [Digest256: GenuineReceipt] = [:]
        var outbox: [OutboxRow] = []
        /// The highest decided offset of each partition.
        var offsets: [Partition: Int64] = [:]
        var holds: [HoldKey: HoldRow] = [:]
        var refunds = RefundView()
        var subscriptions: [StoreTransactionID: SubscriptionRow] = [:]
        var announced = AnnouncedRows()
        var finishes: [StoreTransactionID: FinishEntry] = [:]
        var refundQuestions = RefundQuestions()
        var lastLease: Int64 = 0

        private static var emptyView: LedgerView {
            var view = LedgerView()
            view.won = [:]
            return view
        }

        mutating func nextLease() -> Int64 {
            lastLease += 1
            return lastLease
        }
    }

    struct Partition: Hashable {
        let topic: String
        let number: Int32
    }

    let state: Shared<State>

    /// Deletes all rows, as a restore to the empty database does.
    public func forgetEverything() { state.update { $0 = State() } }

    let isUnreadable = Mutex(false)
    /// The clock that says which subscriptions are due.
    let clock: @Sendable () -> Timestamp

    /// - Parameter changes: the signal that the test's doubles share.
    public init(
        clock: @escaping @Sendable () -> Timestamp = { WallClock.now }, changes: ChangeSignal = ChangeSignal()
    ) {
        self.clock = clock
        state = Shared(State(), changes)
    }

    public func recollect(_ query: RecallQuery) async throws(LedgerClosed) -> Durable<Recollection> {
        Durable(recall(query), in: nil)
    }

    private func recall(_ query: RecallQuery) -> Recollection {
        state.read { state in
            if query.mayBeRedelivered, let events = state.outcomes[query.position] { return .answered(events) }
            if let known = state.proofs[query.proof] { return .provenBefore(known) }
            guard let evidence = query.evidence, state.view.holdsAll(evidence.purchases, of: query.claimant) else {
                return .nothing
            }
            return .provenBefore(evidence)
        }
    }

    public func settle(_ decision: PendingDecision) async throws(LedgerClosed) -> Durable<RecordedOutcome> {
        Durable(state.update { $0.record(decision) }, in: nil)
    }

    public func published(_ eventIDs: [NameBasedUUID]) {
        let published = Set(eventIDs)
        state.update { $0.outbox.removeAll { published.contains($0.event.eventID) } }
    }

    /// The events that Kafka has not acknowledged yet.
    public var pendingEvents: [OutcomeEvent] { state.read { $0.outbox.map(\.event) } }
}

extension PublishedClaims {
    /// Adds the claims of original transactions that have no owner. An existing owner keeps the claim.
    public func enter(_ claims: [PublishedClaim]) async throws {
        try await enter(claims, noticedAt: Timestamp(milliseconds: 0))
    }
}

extension InMemoryLedger: PublishedClaims {
    /// Adds claims as PostgreSQL does. A claim in memory has no time, so every claim here counts as older than the
    /// loss.
    public func enter(_ claims: [PublishedClaim], noticedAt: Timestamp) async throws {
        state.update { state in
            for claim in claims {
                let owner = state.view.claims[claim.id]?.player
                let isLost =
                    noticedAt > Timestamp(milliseconds: 0) && state.view.grants[claim.transactionID] == nil
                guard owner == nil || owner != claim.playerID && isLost && !claim.isOfRefundRequest else { continue }
                state.view.claims[claim.id] = LedgerView.Claim(
                    player: claim.playerID, grantedTransaction: claim.grantedTransactionID)
                state.view.freeRevoked(claim.id)
            }
        }
    }

    public func makeDue(lacking published: [PublishedRevision]) async throws -> Int {
        let now = clock()
        return state.update { state in
            published.count { event in
                guard var row = state.subscriptions[event.id], row.subscription.revision < event.revision else {
                    return false
                }
                row.subscription.check.dueAt = now
                row.lostRevision = event.revision
                state.subscriptions[event.id] = row
                return true
            }
        }
    }

    public func countLacking(_ published: [PublishedRevision]) async throws -> Int {
        state.read { state in
            published.count { event in
                let known =
                    switch event.subject {
                    case .grant: state.refunds.grants[event.id]?.revision
                    case .subscription: state.subscriptions[event.id]?.subscription.revision
                    }
                return known ?? 0 < event.revision
            }
        }
    }
}

extension InMemoryLedger.State {
    mutating func record(_ decision: PendingDecision) -> RecordedOutcome {
        let position = decision.position
        if let events = outcomes[position] { return .events(events) }
        let settlement = decision.settle(in: &view)
        var events = settlement.events
        outcomes[position] = events
        let partition = InMemoryLedger.Partition(topic: position.topic, number: position.partition)
        offsets[partition] = max(position.offset, offsets[partition] ?? -1)
        let reissued = Set(settlement.reissued.map(\.eventID))
        for event in events where !reissued.contains(event.eventID) && decision.publishes(event) {
            outbox.append(OutboxRow(event, traceparent: decision.traceparent, of: partition))
        }
        for grant in settlement.grants { enter(grant, of: decision) }
        announced.claim(by: settlement)
        enter(decision.revocationsShown)
        for finish in settlement.finishes { enter(finish, of: decision) }
        for hold in settlement.holds { enter(hold, of: decision) }
        endHolds(of: decision, settlement)
        events += hear(decision, settlement.outcomes)
        if let evidence = decision.evidence, !evidence.purchases.isEmpty, view.holdsAll(evidence.purchases) {
            proofs[decision.proof] = evidence
        }
        return .events(events)
    }
}
