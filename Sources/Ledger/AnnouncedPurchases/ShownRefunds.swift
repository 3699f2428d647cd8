import Fulfillment
import NamesAndTimes
import Postgres

/// Stores the refunds of announced purchases that Apple's answer for another proof shows. receiptd stores such a refund
/// only in the purchase's evidence, and so may not notice that Apple reversed it later.
enum ShownRefunds {
    private static let locking = LedgerSQL.statement(PackageResources.lock_shown_announced_purchases_sql)
    private static let updating = LedgerSQL.statement(PackageResources.update_shown_announced_purchases_sql)

    /// Writes refunds into the evidence of their purchases. Call it in the SQL transaction of Apple's answer, with the
    /// claims of the originals locked.
    static func enter(_ shown: [NotifiedTransaction], in session: PostgresSession) throws {
        let shown = Dictionary(grouping: shown) { $0.purchase.transactionID }
        guard !shown.isEmpty else { return }
        let rows = try session.execute(locking, [.identifiers(shown.keys.sorted())])
        let (transaction, signedAt) = (try rows.column("transaction_id"), try rows.column("signed_at"))
        let evidence = try rows.column("evidence")
        var changed: [(transaction: StoreTransactionID, evidence: GenuineReceipt)] = []
        for row in 0..<rows.count {
            guard let id = rows.text(row, transaction).map({ StoreTransactionID($0) }), let refunds = shown[id],
                let announcedAt = rows.timestamp(row, signedAt),
                let known = rows.bytes(row, evidence).flatMap(GenuineReceipt.init(stored:))
            else { continue }
            let newest = refunds.reduce(known) { $0.refunded(by: $1, since: announcedAt) ?? $0 }
            if newest != known { changed.append((id, newest)) }
        }
        guard !changed.isEmpty else { return }
        try session.execute(
            updating,
            [.identifiers(changed.lazy.map(\.transaction)), .byteaArray(changed.map(\.evidence.storedBytes))])
    }
}
