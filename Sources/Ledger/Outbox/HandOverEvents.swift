import Fulfillment
import Postgres

/// Makes workers publish events at once if the deciding process, for example a command, does not publish the events
/// itself. Without this, workers would publish the events only when they count as orphans.
package enum HandOverEvents {
    private static let statement = LedgerSQL.statement(PackageResources.hand_over_outbox_sql)

    package static func run(_ events: [NameBasedUUID], in session: PostgresSession) throws {
        guard !events.isEmpty else { return }
        try session.execute(statement, [.uuids(events.sorted())])
    }
}
