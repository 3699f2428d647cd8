import Fulfillment
import Postgres

/// The floor of new revisions of grants and subscriptions. Before a fall back of the database, workers may have
/// published higher revisions than the tables have now.
enum RevisionFloor {
    private static let statement = LedgerSQL.statement(PackageResources.find_revision_floor_sql)

    /// Adds the floor to `view` if a purchase may be revoked as soon as it is granted. Only then there is a round trip.
    /// - Parameter isShown: true if Apple shows a refund of one of the purchases.
    static func find(for view: inout LedgerView, ifShown isShown: Bool, in session: PostgresSession) throws {
        guard isShown || !view.refunds.isEmpty else { return }
        let rows = try session.execute(statement)
        view.revisionFloor = rows.int4(0, try rows.column("floor")).map { Int32(truncatingIfNeeded: $0) } ?? 0
    }
}
