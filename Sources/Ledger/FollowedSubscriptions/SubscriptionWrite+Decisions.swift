import Fulfillment
import Postgres

extension SubscriptionWrite {
    /// Writes the subscription facts in a batch's evidence, after its purchases are in the tables. Returns each
    /// decision's events by the decision's index. Without facts there is no round trip.
    /// - Parameters:
    ///   - outcomes: returns, for a decision's index, the outcomes of the decision's purchases.
    ///   - repeated: returns, for a decision's index, the decision's purchases whose period was granted for another
    ///     transaction. These purchases add seats, and are not periods of their own.
    ///   - claims: the claims of the decisions, locked and settled.
    static func write(
        _ decisions: [PendingDecision], outcomes: (Int) -> [TransactionOutcome],
        repeated: (Int) -> Set<StoreTransactionID> = { _ in [] },
        claims: [StoreTransactionID: LedgerView.Claim], in session: PostgresSession
    ) throws -> [Int: [OutcomeEvent]] {
        var told: [Told] = []
        var places: [Int] = []
        var receipts: [StoreTransactionID: [UInt8]] = [:]
        for (place, decision) in decisions.enumerated() where !decision.subscriptions.facts.isEmpty {
            let source = Source(
                topic: decision.position.topic, partition: decision.position.partition,
                traceparent: decision.traceparent)
            for fact in decision.subscriptions.facts {
                guard let owner = claims[fact.originalTransactionID]?.player, !owner.isPseudonym,
                    !decision.verdict.purchases.contains(where: {
                        fact.isOfPeriod(of: $0) && repeated(place).contains($0.transactionID)
                    })
                else { continue }
                told.append(
                    Told(
                        fact: fact, owner: owner, source: source, search: decision.subscriptions.search,
                        bringsPeriod: decision.bringsPeriod(of: fact, by: outcomes(place)), at: decision.decidedAt))
                places.append(place)
                receipts[fact.originalTransactionID] = decision.subscriptions.receipt
            }
        }
        guard !told.isEmpty else { return [:] }
        var events: [Int: [OutcomeEvent]] = [:]
        for (event, place) in try write(told, in: session) { events[places[place], default: []].append(event) }
        try keep(receipts, in: session)
        return events
    }
}
