import Fulfillment
import Postgres

/// Makes workers publish events at once that the deciding process does not publish itself, such as a command. Without
/// this, workers would publish the events only when they count as orphans.
package enum HandOverEvents {
    private static let statement = LedgerSQL.statement(PackageResources.hand_over_outbox_sql)

    package static func run(_ events: [NameBasedUUID], in session: PostgresSession) throws {
        guard !events.isEmpty else { return }
        try session.execute(statement, [.uuids(events.sorted())])
    }
}
