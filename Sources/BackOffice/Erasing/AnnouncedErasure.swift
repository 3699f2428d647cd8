import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// The erasure of a player's token from announced purchases that another player owns by now. The purchases stay to be
/// delivered.
struct AnnouncedErasure: Sendable {
    private static let locking = LedgerSQL.statement(PackageResources.lock_passed_on_announced_sql)
    private static let updating = LedgerSQL.statement(PackageResources.update_announced_evidence_sql)

    let player: PlayerID
    let pseudonym: PlayerID

    /// Call this before the player's tokens are forgotten, in the same SQL transaction.
    func run(in session: PostgresSession) throws {
        let rows = try session.execute(Self.locking, [.text(player.text), .text(pseudonym.text)])
        guard rows.count > 0 else { return }
        let (transaction, evidence) = (try rows.column("transaction_id"), try rows.column("evidence"))
        let all = 0..<rows.count
        // Unreadable evidence is deleted, because no worker could deliver a purchase by it.
        let changed = all.map { row in
            rows.bytes(row, evidence).flatMap(GenuineReceipt.init(stored:)).map(Self.withoutToken).map(\.storedBytes)
        }
        try session.execute(
            Self.updating, [.textArray(all.map { rows.text($0, transaction) }), .byteaArray(changed)])
    }

    private static func withoutToken(_ evidence: GenuineReceipt) -> GenuineReceipt {
        var receipt = evidence
        receipt.purchases = evidence.purchases.map { purchase in
            var purchase = purchase
            purchase.appAccountToken = nil
            return purchase
        }
        return receipt
    }
}
