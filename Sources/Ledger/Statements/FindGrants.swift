import Fulfillment
import Postgres

enum FindGrants {
    private static let statement = LedgerSQL.statement(PackageResources.find_grants_sql)

    /// Events come along only for grants that one of `submissions` won.
    static func run(
        _ transactions: [StoreTransactionID], submissions: some Sequence<NameBasedUUID>, in session: PostgresSession
    ) throws -> [StoreTransactionID: LedgerView.Grant] {
        guard !transactions.isEmpty else { return [:] }
        let rows = try session.execute(statement, [.identifiers(transactions), .uuids(submissions)])
        var grants: [StoreTransactionID: LedgerView.Grant] = [:]
        for row in 0..<rows.count {
            guard let transaction = rows.text(row, 0), let player = rows.text(row, 1) else { continue }
            grants[Identifier(transaction)] = LedgerView.Grant(
                player: Identifier(player), submission: rows.uuid(row, 2)?.nameBased,
                isRevoked: rows.bool(row, 3) ?? false, event: rows.bytes(row, 4),
                isBound: rows.bool(row, 5) ?? false)
        }
        return grants
    }
}
