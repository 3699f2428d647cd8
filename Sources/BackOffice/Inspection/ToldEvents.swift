import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// Finds the row of an event that no table stores any more, because Kafka has acknowledged the event. The id of an
/// event is computed from its row. So this type computes the ids of recently changed rows again, and compares them with
/// the searched id.
enum ToldEvents {
    static let days: Int32 = 30
    /// The most rows of each kind to search, newest first.
    static let rows: Int64 = 10_000
    /// The most events of one row to compare, newest first. After a restore of the database the revisions begin far
    /// above 1.
    static let revisions: Int32 = 20

    private static let rejections = LedgerSQL.statement(PackageResources.find_told_rejections_sql)
    private static let grants = LedgerSQL.statement(PackageResources.find_told_grants_sql)
    private static let subscriptions = LedgerSQL.statement(PackageResources.find_told_subscriptions_sql)
    private static let refundRequests = LedgerSQL.statement(PackageResources.find_told_refund_requests_sql)
    private static let announced = LedgerSQL.statement(PackageResources.find_told_announced_sql)

    /// Returns the transaction of an event, or the original transaction of an event about a subscription. Nil if no
    /// recent row has the event.
    /// - Parameter id: the searched text, which may be no event's id.
    static func subject(of id: String, in session: PostgresSession) throws -> String? {
        // The id of every event is a UUID of version 5.
        guard let event = PostgresUUID(id), event.high >> 12 & 0xF == 5 else { return nil }
        let wanted = event.nameBased
        let rejected = try session.execute(rejections, [.uuid(event), .int4(days), .int8(rows)])
        let transaction = try rejected.column("transaction_id")
        if rejected.count > 0, let found = rejected.text(0, transaction) { return found }
        if let found = try numbered(
            grants, "transaction_id", "revision", from: 2, in: session,
            has: { transaction, revision in
                [OutcomeEvent.Kind.revoked, .reinstated].contains {
                    OutcomeEvent.eventID($0, transaction: transaction, revision: revision) == wanted
                }
            })
        {
            return found
        }
        if let found = try numbered(
            subscriptions, "original_transaction_id", "revision", from: 1, in: session,
            has: { OutcomeEvent.eventID(subscription: $0, revision: $1) == wanted })
        {
            return found
        }
        if let found = try numbered(
            announced, "transaction_id", "times_held", from: 0, in: session,
            has: { transaction, times in
                [OutcomeEvent.Kind.held, .rejected].contains {
                    OutcomeEvent.eventID($0, transaction: transaction, timesHeld: Int64(times)) == wanted
                }
            })
        {
            return found
        }
        return try refundRequest(wanted, in: session)
    }

    private static func refundRequest(_ wanted: NameBasedUUID, in session: PostgresSession) throws -> String? {
        let found = try session.execute(refundRequests, [.int4(days), .int8(rows)])
        let (notification, transaction) = (try found.column("notification_id"), try found.column("transaction_id"))
        return (0..<found.count).first { row in
            found.text(row, notification).map { OutcomeEvent.eventID(refundRequest: Identifier($0)) } == wanted
        }.flatMap { found.text($0, transaction) }
    }

    /// Returns the name of the row that has the searched event; nil if no row has it.
    /// - Parameters:
    ///   - number: the column with the number of the row's newest event.
    ///   - first: the lowest number that an event can have.
    ///   - has: returns true if the row's event with this number is the searched one.
    private static func numbered(
        _ statement: PostgresStatement, _ name: StaticString, _ number: StaticString, from first: Int32,
        in session: PostgresSession, has isWanted: (StoreTransactionID, Int32) -> Bool
    ) throws -> String? {
        let found = try session.execute(statement, [.int4(days), .int8(rows)])
        let (name, number) = (try found.column(name), try found.column(number))
        for row in 0..<found.count {
            guard let text = found.text(row, name) else { continue }
            let (id, newest) = (StoreTransactionID(text), max(first, Int32(clamping: found.int4(row, number) ?? 0)))
            for number in max(first, newest - revisions + 1)...newest where isWanted(id, number) { return text }
        }
        return nil
    }
}
