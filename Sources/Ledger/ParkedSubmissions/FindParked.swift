import Fulfillment
import Postgres

enum FindParked {
    private static let statement = LedgerSQL.statement(PackageResources.find_waiting_parked_sql)

    struct Waiting {
        var ids: Set<NameBasedUUID> = []
        /// The history of the database in which the submissions are parked; nil if no submission is parked.
        var history: DatabaseHistory?
    }

    /// Returns the ids among `ids` that are parked.
    static func run(_ ids: [NameBasedUUID], in session: PostgresSession) throws -> Waiting {
        guard !ids.isEmpty else { return Waiting() }
        let rows = try session.execute(statement, [.uuids(ids)])
        let (id, history) = (try rows.column("id"), try rows.column("history"))
        return Waiting(
            ids: Set((0..<rows.count).compactMap { rows.uuid($0, id)?.nameBased }),
            history: rows.count > 0 ? rows.history(0, history) : nil)
    }
}
