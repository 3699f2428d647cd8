import Fulfillment
import Synchronization

/// The ledger without a database, for tests and for trying things out: the same settlement on the same rows, gone with
/// the process.
public final class InMemoryLedger: PurchaseLedger {
    private struct State {
        var view = LedgerView()
        var outcomes: [OutcomeKey: [OutcomeEvent]] = [:]
        var proofs: [Digest256: GenuineReceipt] = [:]
        var outbox: [NameBasedUUID: OutcomeEvent] = [:]
    }

    private let state = Mutex(State())

    public init() {}

    public func recollect(_ query: RecallQuery) async throws(LedgerClosed) -> Durable<Recollection> {
        Durable(recall(query), in: nil)
    }

    private func recall(_ query: RecallQuery) -> Recollection {
        state.withLock { state in
            if query.mayBeRedelivered, let events = state.outcomes[OutcomeKey(query.position)] {
                return .answered(events)
            }
            if let known = state.proofs[query.proof] { return .provenBefore(known) }
            guard let evidence = query.evidence, state.view.holdsAll(evidence.purchases, of: query.claimant) else {
                return .nothing
            }
            return .provenBefore(evidence)
        }
    }

    public func settle(_ decision: PendingDecision) async throws(LedgerClosed) -> Durable<RecordedOutcome> {
        Durable(record(decision), in: nil)
    }

    private func record(_ decision: PendingDecision) -> RecordedOutcome {
        state.withLock { state in
            let key = OutcomeKey(decision.position)
            if let events = state.outcomes[key] { return .events(events) }
            let settlement = decision.settle(in: &state.view)
            let events = settlement.events
            state.outcomes[key] = events
            let reissued = Set(settlement.reissued.map(\.eventID))
            for event in events where !reissued.contains(event.eventID) { state.outbox[event.eventID] = event }
            if let evidence = decision.evidence, !evidence.purchases.isEmpty, state.view.holdsAll(evidence.purchases) {
                state.proofs[decision.proof] = evidence
            }
            return .events(events)
        }
    }

    public func published(_ eventIDs: [NameBasedUUID]) {
        state.withLock { state in
            for id in eventIDs { state.outbox[id] = nil }
        }
    }

    /// Events that were not acknowledged yet, in no order.
    public var pendingEvents: [OutcomeEvent] { state.withLock { Array($0.outbox.values) } }
}

extension LedgerView {
    /// Whether every one is granted or held.
    /// - Parameter claimant: nil: whoever has it.
    func holdsAll(_ purchases: [StorePurchase], of claimant: PlayerID? = nil) -> Bool {
        purchases.allSatisfy { purchase in
            let player = grants[purchase.transactionID]?.player ?? holds[purchase.transactionID]?.player
            return claimant == nil ? player != nil : player == claimant
        }
    }
}
