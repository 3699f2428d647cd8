import Fulfillment
import NamesAndTimes

extension DecisionBatchWrite {
    /// Returns the rows for the batch's last statement, and each decision's events in publishing order.
    func outcomes(
        of settlements: [Settlement], in view: LedgerView
    ) -> (statement: InsertOutcomes, events: [[OutcomeEvent]]) {
        var statement = InsertOutcomes(acknowledged: acknowledged.sorted())
        var events: [[OutcomeEvent]] = []
        events.reserveCapacity(settlements.count)
        var proofs: Set<Digest256> = []
        for (index, decision) in batch.decisions.enumerated() {
            let settlement = settlements[index]
            let all = settlement.events
            events.append(all)
            statement.outcomes.append(
                OutcomeRow(
                    key: batch.keys[index], decision: decision,
                    granted: all.filter { $0.kind == .granted }.map(\.subject), answer: settlement.answer?.value))
            // The event of an earlier grant needs no outbox row, because it was published or still has its row. But the
            // events of an operator's command all need a row, because only workers publish them.
            let reissued =
                decision.isRefusedByOperator ? [] : Set(settlement.reissued.map(\.eventID))
            for event in all where !reissued.contains(event.eventID) && decision.publishes(event) {
                statement.outbox.append(
                    OutboxRow(decision: decision, event: event, ordinal: Int32(statement.outbox.count)))
            }
            if let proof = proof(of: decision, in: view), proofs.insert(decision.proof).inserted {
                statement.proofs.append(proof)
            }
        }
        statement.outcomes.sort { $0.key < $1.key }
        statement.outbox.sort { $0.event.eventID < $1.event.eventID }
        statement.proofs.sort { $0.proof.lexicographicallyPrecedes($1.proof) }
        statement.progress = progress
        return (statement, events)
    }

    /// Returns the row that stores the proof's evidence. Nil if there is no evidence, if the ledger lacks one of the
    /// evidence's purchases, or if the evidence is too large.
    private func proof(of decision: PendingDecision, in view: LedgerView) -> ProofRow? {
        guard let evidence = decision.evidence, !evidence.purchases.isEmpty else { return nil }
        guard view.holdsAll(evidence.purchases) else { return nil }
        let bytes = evidence.storedBytes
        guard bytes.count <= Self.maximumEvidenceBytes else { return nil }
        return ProofRow(
            proof: decision.proof.bytes, evidence: bytes, transactions: evidence.purchases.map(\.transactionID),
            seenOn: decision.decidedAt.daysSinceEpoch)
    }

    private var progress: [ProgressRow] {
        struct Partition: Hashable {
            let topic: Identifier
            let number: Int32
        }
        var highest: [Partition: Int64] = [:]
        for key in batch.keys {
            highest[Partition(topic: key.topic, number: key.partition), default: .min].raise(to: key.offset)
        }
        return highest.map { ProgressRow(topic: $0.key.topic, partition: $0.key.number, offset: $0.value) }
            .sorted { ($0.topic, $0.partition) < ($1.topic, $1.partition) }
    }
}

extension PendingDecision {
    fileprivate var isRefusedByOperator: Bool {
        if case .whole(.refusedByOperator, _) = verdict { true } else { false }
    }
}

extension Int64 {
    fileprivate mutating func raise(to other: Int64) { self = Swift.max(self, other) }
}
