import Fulfillment
import NamesAndTimes
import Postgres

enum ChangeClaims {
    private static let updating = LedgerSQL.statement(PackageResources.update_claims_sql)
    private static let deleting = LedgerSQL.statement(PackageResources.delete_claims_sql)

    /// Updates and deletes claims. Both lists must be sorted by original transaction, and all their rows locked by this
    /// SQL transaction.
    static func run(
        update: [(original: StoreTransactionID, claim: LedgerView.Claim)], delete: [StoreTransactionID],
        in session: PostgresSession
    ) throws {
        if !update.isEmpty {
            try session.execute(
                updating,
                [
                    .identifiers(update.lazy.map(\.original)), .textArray(update.map { $0.claim.player?.text }),
                    .textArray(update.map { $0.claim.grantedTransaction?.text }),
                ])
        }
        if !delete.isEmpty { try session.execute(deleting, [.identifiers(delete)]) }
    }
}
