import Fulfillment
import Postgres

/// Hands an operator's events to the workers, because the process that decides them publishes none. Otherwise workers
/// would publish them only once they count as orphans.
package enum HandOverEvents {
    private static let statement = LedgerSQL.statement(PackageResources.hand_over_outbox_sql)

    package static func run(_ events: [NameBasedUUID], in session: PostgresSession) throws {
        guard !events.isEmpty else { return }
        try session.execute(statement, [.uuids(events.sorted())])
    }
}
