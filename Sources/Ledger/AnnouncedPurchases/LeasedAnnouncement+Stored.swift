import Fulfillment
import NamesAndTimes
import Postgres

/// Purchases as `lease_due_announced_purchases` and `lease_suspect_announced_purchase` return them.
struct LeasedAnnouncements: Sendable {
    var leased: [LeasedAnnouncement] = []
    /// The leased rows that cannot be read, which nothing repairs.
    var unreadable: [(transaction: StoreTransactionID, lease: LeasedAnnouncement.Lease)] = []

    init(_ rows: PostgresRows) throws(PostgresError) {
        let columns = try rows.columns(Column.self)
        for row in 0..<rows.count {
            guard let transaction = rows.text(row, columns[.transactionID]) else { continue }
            if let one = LeasedAnnouncement(rows, row, columns) {
                leased.append(one)
            } else if let lease = rows.timestampMicroseconds(row, columns[.leasedUntil]) {
                unreadable.append((Identifier(transaction), lease))
            }
        }
    }

    fileprivate enum Column: String, CaseIterable {
        case transactionID, source, submissionID, isRenewal, graceExpiresAt, signedAt, evidence, timesHeld
        case leasedUntil, previousOriginalTransactionID
    }
}

extension LeasedAnnouncement {
    fileprivate init?(_ rows: PostgresRows, _ row: Int, _ columns: PostgresColumns<LeasedAnnouncements.Column>) {
        guard let evidence = rows.bytes(row, columns[.evidence]).flatMap(GenuineReceipt.init(stored:)),
            let source = rows.text(row, columns[.source]).flatMap(PurchaseSource.init(rawValue:)),
            let submission = rows.text(row, columns[.submissionID]),
            let signedAt = rows.timestamp(row, columns[.signedAt]),
            let lease = rows.timestampMicroseconds(row, columns[.leasedUntil]),
            var purchase = AnnouncedPurchase(
                evidence: evidence, source: source, submissionID: submission, toldAt: signedAt,
                isRenewal: rows.bool(row, columns[.isRenewal]) ?? false)
        else { return nil }
        purchase.graceExpiresAt = rows.timestamp(row, columns[.graceExpiresAt])
        purchase.previousOriginalTransactionID = rows.text(row, columns[.previousOriginalTransactionID]).map {
            Identifier($0)
        }
        self.init(
            purchase: purchase, timesHeld: Int32(clamping: rows.int4(row, columns[.timesHeld]) ?? 0), lease: lease)
    }
}
