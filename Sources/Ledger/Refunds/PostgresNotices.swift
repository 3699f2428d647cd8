import Fulfillment
import Postgres

/// Apple's announcements in PostgreSQL. Any number of replicas at once: the claims' locks order them.
public struct PostgresNotices: NoticeLedger {
    private let pool: PostgresPool
    private let fallBacks: FallBackWatch?

    /// - Parameter fallBacks: learns of each commit; nil for none.
    public init(pool: PostgresPool, fallBacks: FallBackWatch? = nil) {
        self.pool = pool
        self.fallBacks = fallBacks
    }

    /// Throws a `PostgresError`. Where one of the notices is refused for its data, each has a transaction of its own.
    public func apply(_ notices: [ReceivedNotice], catalog: Catalog) async throws -> Durable<AppliedNotices> {
        guard !notices.isEmpty else { return Durable(AppliedNotices(), in: nil) }
        let write = NoticeBatchWrite(received: notices, catalog: catalog)
        do {
            let done = try await pool.run { try write.run(in: $0) }
            if let last = notices.last { fallBacks?.committed(.notice(last.notice.id), in: done.history) }
            return Durable(
                AppliedNotices(effects: done.effects.map(AppliedNotice.applied), events: done.events), in: done.history)
        } catch {
            let failure = PostgresError(caught: error)
            guard failure.kind == .data else { throw failure }
        }
        if notices.count == 1 { return Durable(AppliedNotices(effects: [.refused]), in: nil) }
        var applied = AppliedNotices()
        var history: DatabaseHistory?
        for notice in notices {
            let one = try await apply([notice], catalog: catalog)
            if let history, let other = one.history, history != other {
                throw PostgresError(
                    sqlState: nil, message: "the database became another one in the middle of a batch", kind: .retriable
                )
            }
            history = history ?? one.history
            applied.effects += one.value.effects
            applied.events += one.value.events
        }
        return Durable(applied, in: history)
    }
}
