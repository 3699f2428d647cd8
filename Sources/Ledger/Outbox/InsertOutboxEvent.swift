import Fulfillment
import NamesAndTimes
import Postgres

/// Puts one event into the outbox, in the SQL transaction that decides it. A grant's row has the grant's event, which
/// is not stored twice.
package enum InsertOutboxEvent {
    private static let statement = LedgerSQL.statement(PackageResources.insert_outbox_event_sql)

    /// - Parameters:
    ///   - topic: the topic of the submission's record, or a word that no topic has.
    ///   - partition: the partition of the submission's record.
    package static func run(
        _ event: OutcomeEvent, topic: String, partition: Int32, traceparent: String?, in session: PostgresSession
    ) throws {
        let isGrant = event.kind == .granted
        try session.execute(
            statement,
            [
                .uuid(event.eventID.stored), .text(topic), .int4(partition), .text(event.playerID.text),
                .text(traceparent), .text(isGrant ? event.subject.text : nil), .bytea(isGrant ? nil : event.value),
            ])
    }
}
