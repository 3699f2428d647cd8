import Fulfillment
import NamesAndTimes
import Postgres

enum FindHolds {
    private static let statement = LedgerSQL.statement(PackageResources.find_holds_sql)

    /// Adds to the view the holds of `transactions` that concern `players`, the refusals of these transactions to
    /// `players`, and the refunds of `refundable` and `periods`.
    static func run(
        _ transactions: [StoreTransactionID], players: Set<PlayerID>, refundable: [StoreTransactionID],
        periods: [StoreTransactionID], into view: inout LedgerView, in session: PostgresSession
    ) throws {
        guard !transactions.isEmpty || !refundable.isEmpty || !periods.isEmpty else { return }
        let rows = try session.execute(
            statement,
            [.identifiers(transactions), .identifiers(players), .identifiers(refundable), .identifiers(periods)])
        let refunds = try RefundColumns(rows)
        let (owner, why) = (try rows.column("player_id"), try rows.column("reason"))
        let isBound = try rows.column("is_bound")
        for row in 0..<rows.count {
            guard let transaction = rows.text(row, refunds.transaction) else { continue }
            guard let player = rows.text(row, owner) else {
                view.enterRefund(rows, row, refunds)
                continue
            }
            if let reason = rows.text(row, why) {
                view.holds[Identifier(transaction), default: [:]][Identifier(player)] = LedgerView.Hold(
                    // A newer replica may hold a transaction for a reason that this version does not know.
                    reason: Reason(rawValue: reason) ?? .unknownProduct, isBound: rows.bool(row, isBound) ?? false)
            } else {
                view.refusals[Identifier(transaction), default: []].insert(Identifier(player))
            }
        }
    }
}

private struct RefundColumns {
    let transaction, bundle, environment: PostgresColumn
    let state: RefundState.Columns

    init(_ rows: PostgresRows) throws(PostgresError) {
        transaction = try rows.column("transaction_id")
        bundle = try rows.column("bundle_id")
        environment = try rows.column("environment")
        state = try RefundState.Columns(rows)
    }
}

extension LedgerView {
    fileprivate mutating func enterRefund(_ rows: PostgresRows, _ row: Int, _ columns: RefundColumns) {
        guard let transaction = rows.text(row, columns.transaction), let bundle = rows.text(row, columns.bundle),
            let environment = rows.text(row, columns.environment).flatMap(StoreEnvironment.init(rawValue:))
        else { return }
        let key = RefundKey(
            transactionID: Identifier(transaction), bundleID: Identifier(bundle), environment: environment)
        refunds[key] = RefundState(rows, row, columns.state)
    }
}
