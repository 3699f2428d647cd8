import Fulfillment
import Postgres

enum DeleteAcknowledged {
    private static let statement = LedgerSQL.statement(PackageResources.delete_outbox_sql)

    static func run(_ events: [NameBasedUUID], in session: PostgresSession) throws {
        guard !events.isEmpty else { return }
        try session.execute(statement, [.uuids(events.sorted())])
    }
}
