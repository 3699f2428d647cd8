import Fulfillment
import Postgres

enum FindHolds {
    private static let statement = LedgerSQL.statement(PackageResources.find_holds_sql)

    /// Enters the holds of `transactions`, and which of `players` were refused one.
    static func run(
        _ transactions: [StoreTransactionID], players: Set<PlayerID>, into view: inout LedgerView,
        in session: PostgresSession
    ) throws {
        guard !transactions.isEmpty else { return }
        let rows = try session.execute(statement, [.identifiers(transactions), .identifiers(players)])
        for row in 0..<rows.count {
            guard let transaction = rows.text(row, 0), let player = rows.text(row, 1) else { continue }
            if let reason = rows.text(row, 2) {
                view.holds[Identifier(transaction)] = LedgerView.Hold(
                    player: Identifier(player),
                    // A newer replica may hold for a reason that this one does not know.
                    reason: Reason(rawValue: reason) ?? .unknownProduct)
            } else {
                view.refusals[Identifier(transaction), default: []].insert(Identifier(player))
            }
        }
    }
}
