import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// Erases a player's account token from announced purchases whose original transaction now belongs to another player.
/// The purchases stay, because workers deliver them to the new owner.
struct AnnouncedErasure: Sendable {
    private static let locking = LedgerSQL.statement(PackageResources.lock_passed_on_announced_sql)
    private static let updating = LedgerSQL.statement(PackageResources.update_announced_evidence_sql)

    let player: PlayerID
    let pseudonym: PlayerID

    /// Erases the token. Must run in the SQL transaction that deletes the player's tokens, before it deletes them.
    func run(in session: PostgresSession) throws {
        let rows = try session.execute(Self.locking, [.text(player.text), .text(pseudonym.text)])
        guard rows.count > 0 else { return }
        let (transaction, evidence) = (try rows.column("transaction_id"), try rows.column("evidence"))
        let all = 0..<rows.count
        // Unreadable evidence is deleted, because no worker could use it to deliver the purchase.
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
