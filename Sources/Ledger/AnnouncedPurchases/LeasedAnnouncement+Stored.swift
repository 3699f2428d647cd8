import Fulfillment
import NamesAndTimes
import Postgres

/// The purchases that `lease_due_announced_purchases` and `lease_suspect_announced_purchase` return.
struct LeasedAnnouncements: Sendable {
    var leased: [LeasedAnnouncement] = []
    /// Leased rows that Swift cannot read. No retry repairs them.
    var unreadable: [(transaction: StoreTransactionID, lease: LeasedAnnouncement.Lease)] = []

    init(_ rows: PostgresRows) throws(PostgresError) {
        for row in try rows.named(Column.self) {
            guard let transaction = row.text(.transactionID) else { continue }
            if let one = LeasedAnnouncement(row) {
                leased.append(one)
            } else if let lease = row.timestampMicroseconds(.leasedUntil) {
                unreadable.append((Identifier(transaction), lease))
            }
        }
    }

    fileprivate enum Column: String, CaseIterable {
        case transactionID, source, submissionID, isRenewal, graceExpiresAt, signedAt, evidence, timesHeld
        case leasedUntil, previousOriginalTransactionID, isPublished
    }
}

extension LeasedAnnouncement {
    fileprivate init?(_ row: PostgresRow<LeasedAnnouncements.Column>) {
        guard let evidence = row.bytes(.evidence).flatMap(GenuineReceipt.init(stored:)),
            let source = row.text(.source).flatMap(PurchaseSource.init(rawValue:)),
            let submission = row.text(.submissionID), let signedAt = row.timestamp(.signedAt),
            let lease = row.timestampMicroseconds(.leasedUntil),
            var purchase = AnnouncedPurchase(
                evidence: evidence, source: source, submissionID: submission, toldAt: signedAt,
                isRenewal: row.bool(.isRenewal) ?? false)
        else { return nil }
        purchase.graceExpiresAt = row.timestamp(.graceExpiresAt)
        purchase.previousOriginalTransactionID = row.text(.previousOriginalTransactionID).map { Identifier($0) }
        self.init(
            purchase: purchase, timesHeld: row.integer(.timesHeld) ?? 0, lease: lease,
            isPublished: row.bool(.isPublished) ?? false)
    }
}
