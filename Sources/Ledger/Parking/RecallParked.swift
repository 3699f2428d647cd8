import Fulfillment
import Postgres

enum RecallParked {
    private static let statement = LedgerSQL.statement(PackageResources.recall_parked_sql)

    /// Those of `ids` that wait.
    static func run(_ ids: [NameBasedUUID], in session: PostgresSession) throws -> Set<NameBasedUUID> {
        guard !ids.isEmpty else { return [] }
        let rows = try session.execute(statement, [.uuids(ids)])
        return Set((0..<rows.count).compactMap { rows.uuid($0, 0)?.nameBased })
    }
}
