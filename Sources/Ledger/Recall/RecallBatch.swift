import Fulfillment
import Postgres

/// Many callers' queries in one round trip; one more where some of the records may be redelivered, and one where some of
/// the proofs are proven.
struct RecallBatch: Sendable {
    let queries: [RecallQuery]

    func run(in session: PostgresSession) throws -> [Durable<Recollection>] {
        var answers = [Recollection](repeating: .nothing, count: queries.count)
        var histories = [DatabaseHistory?](repeating: nil, count: queries.count)
        let doubtful = queries.indices.filter { queries[$0].mayBeRedelivered }
        let outcomes = try FindOutcomes.run(doubtful.map { OutcomeKey(queries[$0].position) }, in: session)
        for (number, events) in outcomes.events {
            answers[doubtful[number]] = .answered(events)
            histories[doubtful[number]] = outcomes.history
        }
        let mayWait = doubtful.filter { answers[$0] == .nothing && !queries[$0].isParked }
        let ids = mayWait.map { queries[$0].position.parkedID }
        let waiting = try FindParked.run(ids, in: session)
        for (index, id) in zip(mayWait, ids) where waiting.ids.contains(id) {
            answers[index] = .parked
            histories[index] = waiting.history
        }
        let open = queries.indices.filter { answers[$0] == .nothing }
        let receipts = try FindProofs.run(open.map { queries[$0].proof }, in: session)
        for (number, receipt) in receipts { answers[open[number]] = .provenBefore(receipt) }
        let proven = open.filter { answers[$0] == .nothing }
        let asked = proven.map { (receipt: queries[$0].evidence, claimant: queries[$0].claimant) }
        for number in try FindPurchases.run(asked, in: session) {
            if let evidence = asked[number].receipt { answers[proven[number]] = .provenBefore(evidence) }
        }
        return zip(answers, histories).map { Durable($0, in: $1) }
    }
}
