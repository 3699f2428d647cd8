import Fulfillment
import Postgres

extension PostgresLedger {
    /// The share of a writer's delay that a reader waits after a small group. It is below 1, because each submission
    /// waits for a reader and then for a writer.
    private static let recallShare = 0.5

    func answerQueries(minimum: Int) async {
        var gathering = gathering(share: Self.recallShare)
        while let entries = await queries.next(minimum: minimum, maximum: limits.maximumBatch, bytes: .max) {
            await answer(entries)
            await gather(&gathering, after: entries.count)
        }
    }

    private func answer(_ entries: [GroupQueue<RecallQuery, Durable<Recollection>>.Entry]) async {
        let asked = entries.map(\.request)
        var backoff = Backoff()
        while true {
            let start = ContinuousClock.now
            do {
                let answers = try await pool.run { try RecallBatch(queries: asked).run(in: $0) }
                noteSuccess(of: .recall)
                observer.recalled(entries.count, (ContinuousClock.now - start).inSeconds)
                for (entry, answer) in zip(entries, answers) { entry.answer(answer) }
                return
            } catch {
                let error = PostgresError(caught: error)
                if error.kind == .data {
                    // PostgreSQL refuses the query's data, so it cannot have stored a matching row.
                    observer.trouble(.failed(error))
                    for entry in entries { entry.answer(Durable(.nothing, in: nil)) }
                    return
                }
                note(error, of: .recall)
            }
            await backoff.wait()
            if queries.isClosed {
                for entry in entries { entry.fail() }
                return
            }
        }
    }
}
