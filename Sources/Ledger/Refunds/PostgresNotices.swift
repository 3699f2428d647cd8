import Fulfillment
import Postgres

/// Apple's notifications in PostgreSQL. Many replicas may write notifications at once: locks on claims put the writes
/// in order.
public struct PostgresNotices: NoticeLedger {
    private let pool: PostgresPool
    private let fallBacks: FallBackWatch?

    /// - Parameter fallBacks: the watch that learns of each commit; nil for no watch.
    public init(pool: PostgresPool, fallBacks: FallBackWatch? = nil) {
        self.pool = pool
        self.fallBacks = fallBacks
    }

    /// Applies notices. Throws a `PostgresError`. If PostgreSQL refuses the data of one notice, each notice gets an SQL
    /// transaction of its own.
    public func apply(_ notices: [ReceivedNotice], catalog: Catalog) async throws -> Durable<AppliedNotices> {
        let refused = AppliedNotices(effects: [.refused])
        let applied = try await BatchWriting.run(notices, refused: refused) { notices in
            let write = NoticeBatchWrite(received: notices, catalog: catalog)
            let done = try await pool.run { try write.run(in: $0) }
            if let last = notices.last { fallBacks?.committed(.notice(last.notice.id), in: done.history) }
            return Durable(
                [AppliedNotices(effects: done.effects.map(AppliedNotice.applied), events: done.events)],
                in: done.history)
        }
        return Durable(
            AppliedNotices(effects: applied.value.flatMap(\.effects), events: applied.value.flatMap(\.events)),
            in: applied.history)
    }
}
