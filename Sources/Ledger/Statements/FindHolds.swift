import Fulfillment
import Postgres

enum FindHolds {
    private static let statement = LedgerSQL.statement(PackageResources.find_holds_sql)

    static func run(
        _ transactions: [StoreTransactionID], in session: PostgresSession
    ) throws -> [StoreTransactionID: LedgerView.Hold] {
        guard !transactions.isEmpty else { return [:] }
        let rows = try session.execute(statement, [.identifiers(transactions)])
        var holds: [StoreTransactionID: LedgerView.Hold] = [:]
        for row in 0..<rows.count {
            guard let transaction = rows.text(row, 0), let player = rows.text(row, 1) else { continue }
            holds[Identifier(transaction)] = LedgerView.Hold(
                player: Identifier(player),
                // A newer replica may hold for a reason that this one does not know.
                reason: rows.text(row, 2).flatMap(Reason.init(rawValue:)) ?? .unknownProduct,
                isRefused: rows.bool(row, 3) ?? false)
        }
        return holds
    }
}
