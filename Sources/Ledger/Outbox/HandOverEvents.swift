import Fulfillment
import Postgres

/// Makes workers publish events at once. Use it if the deciding process, for example a command, does not publish the
/// events itself. Otherwise workers publish the events only when they are old enough to count as orphans.
package enum HandOverEvents {
    private static let statement = LedgerSQL.statement(PackageResources.hand_over_outbox_sql)

    package static func run(_ events: [NameBasedUUID], in session: PostgresSession) throws {
        guard !events.isEmpty else { return }
        try session.execute(statement, [.uuids(events.sorted())])
    }
}
