import Fulfillment
import NamesAndTimes
import Postgres

/// Purchases as `lease_due_announced_purchases` and `lease_suspect_announced_purchase` return them.
struct LeasedAnnouncements: Sendable {
    var leased: [LeasedAnnouncement] = []
    /// What is kept of them cannot be read, which nothing mends.
    var unreadable: [(transaction: StoreTransactionID, lease: LeasedAnnouncement.Lease)] = []

    init(_ rows: PostgresRows) throws(PostgresError) {
        let columns = try Columns(rows)
        for row in 0..<rows.count {
            guard let transaction = rows.text(row, columns.transaction) else { continue }
            if let one = LeasedAnnouncement(rows, row, columns) {
                leased.append(one)
            } else if let lease = rows.timestampMicroseconds(row, columns.lease) {
                unreadable.append((Identifier(transaction), lease))
            }
        }
    }

    fileprivate struct Columns {
        let transaction, source, submission, isRenewal, graceExpiresAt, signedAt: PostgresColumn
        let evidence, timesHeld, lease, previous: PostgresColumn

        init(_ rows: PostgresRows) throws(PostgresError) {
            transaction = try rows.column("transaction_id")
            source = try rows.column("source")
            submission = try rows.column("submission_id")
            isRenewal = try rows.column("is_renewal")
            graceExpiresAt = try rows.column("grace_expires_at")
            signedAt = try rows.column("signed_at")
            evidence = try rows.column("evidence")
            timesHeld = try rows.column("times_held")
            lease = try rows.column("leased_until")
            previous = try rows.column("previous_original_transaction_id")
        }
    }
}

extension LeasedAnnouncement {
    fileprivate init?(_ rows: PostgresRows, _ row: Int, _ columns: LeasedAnnouncements.Columns) {
        guard let evidence = rows.bytes(row, columns.evidence).flatMap(GenuineReceipt.init(stored:)),
            let source = rows.text(row, columns.source).flatMap(PurchaseSource.init(rawValue:)),
            let submission = rows.text(row, columns.submission), let signedAt = rows.timestamp(row, columns.signedAt),
            let lease = rows.timestampMicroseconds(row, columns.lease),
            var purchase = AnnouncedPurchase(
                evidence: evidence, source: source, submissionID: submission, toldAt: signedAt,
                isRenewal: rows.bool(row, columns.isRenewal) ?? false)
        else { return nil }
        purchase.graceExpiresAt = rows.timestamp(row, columns.graceExpiresAt)
        purchase.previousOriginalTransactionID = rows.text(row, columns.previous).map { Identifier($0) }
        self.init(
            purchase: purchase, timesHeld: Int32(clamping: rows.int4(row, columns.timesHeld) ?? 0), lease: lease)
    }
}
