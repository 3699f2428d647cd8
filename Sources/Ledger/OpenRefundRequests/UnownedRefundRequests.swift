import Fulfillment
import NamesAndTimes
import Postgres

/// Finds the owners of refund requests that came before their transactions were in the ledger.
enum UnownedRefundRequests {
    /// The seconds between two tries to find a request's owner.
    static let lookSeconds = 60.0
    /// The most requests of one SQL transaction.
    private static let most: Int64 = 100

    private static let finding = LedgerSQL.statement(PackageResources.find_unowned_refund_requests_sql)
    private static let updating = LedgerSQL.statement(PackageResources.update_unowned_refund_requests_sql)

    /// Finds the owners of due requests, and inserts the event of each owned request into the outbox.
    /// - Parameter waitSeconds: the seconds that a request waits for the game server's report.
    static func look(at now: Timestamp, waitSeconds: Double, in session: PostgresSession) throws {
        let due = try session.execute(finding, [.int8(most)])
        guard due.count > 0 else { return }
        let notification = try due.column("notification_id")
        let (original, period) = (try due.column("original_transaction_id"), try due.column("period_id"))
        let ids = (0..<due.count).compactMap { due.text($0, notification).map { Identifier($0) } }.sorted()
        let originals = Set(
            (0..<due.count).flatMap { row in
                [due.text(row, original), due.text(row, period)].compactMap { $0.map { StoreTransactionID($0) } }
            })
        try session.transaction { session in
            // Locks the claims as for a new request. So a concurrent grant or erasure commits before, or waits until
            // this SQL transaction ends.
            _ = try LockClaims.run(originals.sorted(), in: session)
            let rows = try session.execute(
                updating,
                [
                    .identifiers(ids), .float8(lookSeconds), .float8(waitSeconds),
                    .float8(LeasedRefundRequest.reservedSeconds),
                    .identifiers(ids.map { PublishedClaim.id(ofRefundRequest: $0) }),
                ])
            _ = try RefundRequestWrite.publish(OwnedRefundRequest.all(rows), at: now, in: session)
        }
    }
}
