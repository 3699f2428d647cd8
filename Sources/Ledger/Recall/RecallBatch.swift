import Fulfillment
import Postgres

/// Answers many callers' queries in one round trip, or in three if some of their records may be redelivered.
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
        for (number, receipt) in try FindKnownReceipts.run(open.map { queries[$0] }, in: session) {
            answers[open[number]] = .provenBefore(receipt)
        }
        return zip(answers, histories).map { Durable($0, in: $1) }
    }
}
