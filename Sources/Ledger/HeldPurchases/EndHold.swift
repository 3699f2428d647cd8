import Fulfillment
import NamesAndTimes
import Postgres

/// Ends one player's hold of a transaction. The stored submission is deleted with its last hold.
enum EndHold {
    private static let deleting = LedgerSQL.statement(PackageResources.delete_hold_sql)
    private static let lockingSubmission = LedgerSQL.statement(PackageResources.lock_held_submission_sql)
    private static let deletingSubmission = LedgerSQL.statement(PackageResources.delete_held_submission_sql)

    /// Deletes the hold. The transaction's claim must be locked. Does nothing if there is no hold.
    static func run(_ transaction: StoreTransactionID, of player: PlayerID, in session: PostgresSession) throws {
        let rows = try session.execute(deleting, [.text(transaction.text), .text(player.text)])
        guard rows.count > 0, let submission = rows.uuid(0, try rows.column("submission_key")) else { return }
        try session.execute(lockingSubmission, [.uuid(submission)])
        try session.execute(deletingSubmission, [.uuid(submission)])
    }
}
