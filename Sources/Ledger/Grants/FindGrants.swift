import Fulfillment
import NamesAndTimes
import Postgres

enum FindGrants {
    private static let statement = LedgerSQL.statement(PackageResources.find_grants_sql)

    /// Finds grants. Reads a grant's event only if one of `submissions` won the grant.
    static func run(
        _ transactions: [StoreTransactionID], submissions: some Sequence<NameBasedUUID>, in session: PostgresSession
    ) throws -> [StoreTransactionID: LedgerView.Grant] {
        guard !transactions.isEmpty else { return [:] }
        let rows = try session.execute(statement, [.identifiers(transactions), .uuids(submissions)])
        let (id, owner) = (try rows.column("transaction_id"), try rows.column("player_id"))
        let (submission, isRevoked) = (try rows.column("submission_key"), try rows.column("is_revoked"))
        let (event, isBound) = (try rows.column("event"), try rows.column("is_bound"))
        let operatorRevokedAt = try rows.column("operator_revoked_at")
        var grants: [StoreTransactionID: LedgerView.Grant] = [:]
        for row in 0..<rows.count {
            guard let transaction = rows.text(row, id), let player = rows.text(row, owner) else { continue }
            var grant = LedgerView.Grant(
                player: Identifier(player), submission: rows.uuid(row, submission)?.nameBased,
                isRevoked: rows.bool(row, isRevoked) ?? false, event: rows.bytes(row, event),
                isBound: rows.bool(row, isBound) ?? false)
            grant.operatorRevokedAt = rows.timestamp(row, operatorRevokedAt)
            grants[Identifier(transaction)] = grant
        }
        return grants
    }
}
