import Fulfillment
import Postgres

/// Hands events to the workers that the process which decided them does not publish itself, such as a command's. Otherwise
/// workers would publish them only once they count as orphans.
package enum HandOverEvents {
    private static let statement = LedgerSQL.statement(PackageResources.hand_over_outbox_sql)

    package static func run(_ events: [NameBasedUUID], in session: PostgresSession) throws {
        guard !events.isEmpty else { return }
        try session.execute(statement, [.uuids(events.sorted())])
    }
}
