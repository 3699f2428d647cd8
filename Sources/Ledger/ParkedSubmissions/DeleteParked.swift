import Fulfillment
import Postgres

enum DeleteParked {
    private static let statement = LedgerSQL.statement(PackageResources.delete_parked_sql)

    static func run(_ ids: [NameBasedUUID], in session: PostgresSession) throws {
        guard !ids.isEmpty else { return }
        try session.execute(statement, [.uuids(ids.sorted())])
    }
}
