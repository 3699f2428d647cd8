import Fulfillment
import Postgres

/// What Apple took back, in PostgreSQL. Any number of replicas at once: the claims' locks order them.
public struct PostgresRefunds: RefundLedger {
    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Throws a `PostgresError`. Where one of the notices is refused for its data, each stands in a transaction of its
    /// own.
    public func apply(_ notices: [ReceivedNotice], catalog: Catalog) async throws -> [AppliedNotice] {
        guard !notices.isEmpty else { return [] }
        let transaction = RefundTransaction(received: notices, catalog: catalog)
        do {
            return try await pool.run { try transaction.run(in: $0) }.map(AppliedNotice.applied)
        } catch {
            let failure = PostgresError(caught: error)
            guard failure.kind == .data else { throw failure }
        }
        if notices.count == 1 { return [.refused] }
        var applied: [AppliedNotice] = []
        for notice in notices { applied += try await apply([notice], catalog: catalog) }
        return applied
    }
}
