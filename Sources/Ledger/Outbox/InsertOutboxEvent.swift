import Fulfillment
import NamesAndTimes
import Postgres

/// Inserts one event into the outbox, in the SQL transaction that decides it. The bytes of a grant's event are only in
/// the grant's row.
package enum InsertOutboxEvent {
    private static let statement = LedgerSQL.statement(PackageResources.insert_outbox_event_sql)

    /// - Parameters:
    ///   - topic: the topic of the submission's record, or a text that is not a topic.
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
