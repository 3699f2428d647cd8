import Fulfillment
import Postgres

/// Leaves an operator's events to the workers: the process that decided them publishes none, so that nobody need wait until
/// they are old enough to be orphans. Without it they are published as orphans are.
package enum HandOverEvents {
    private static let statement = LedgerSQL.statement(PackageResources.hand_over_outbox_sql)

    package static func run(_ events: [NameBasedUUID], in session: PostgresSession) throws {
        guard !events.isEmpty else { return }
        try session.execute(statement, [.uuids(events.sorted())])
    }
}
