import Fulfillment
import Postgres

/// What the revisions of grants and subscriptions go above: a state of the database that is lost may have told of some.
enum RevisionFloor {
    private static let statement = LedgerSQL.statement(PackageResources.find_revision_floor_sql)

    /// Enters it where a purchase may be revoked as soon as it is granted. A round trip then, else none.
    /// - Parameter isShown: Apple shows one of the purchases as taken back.
    static func find(for view: inout LedgerView, ifShown isShown: Bool, in session: PostgresSession) throws {
        guard isShown || !view.refunds.isEmpty || !view.refunds.reversed.isEmpty else { return }
        let rows = try session.execute(statement)
        view.revisionFloor = rows.int4(0, try rows.column("floor")).map { Int32(truncatingIfNeeded: $0) } ?? 0
    }
}
