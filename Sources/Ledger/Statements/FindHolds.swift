import Fulfillment
import Postgres

enum FindHolds {
    private static let statement = LedgerSQL.statement(PackageResources.find_holds_sql)

    /// Enters the holds of `transactions`, which of `players` were refused one, and what Apple took back of `refundable`.
    static func run(
        _ transactions: [StoreTransactionID], players: Set<PlayerID>, refundable: [StoreTransactionID],
        into view: inout LedgerView, in session: PostgresSession
    ) throws {
        guard !transactions.isEmpty || !refundable.isEmpty else { return }
        let rows = try session.execute(
            statement, [.identifiers(transactions), .identifiers(players), .identifiers(refundable)])
        for row in 0..<rows.count {
            guard let transaction = rows.text(row, 0) else { continue }
            guard let player = rows.text(row, 1) else {
                view.enterRefund(of: transaction, rows.text(row, 3), rows.text(row, 4), at: rows.timestamp(row, 5))
                continue
            }
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

/// What Apple took back, where nothing else is to be read.
enum FindRefunds {
    private static let statement = LedgerSQL.statement(PackageResources.find_refunds_sql)

    static func run(
        _ transactions: [StoreTransactionID], into view: inout LedgerView, in session: PostgresSession
    ) throws {
        let rows = try session.execute(statement, [.identifiers(transactions)])
        for row in 0..<rows.count {
            guard let transaction = rows.text(row, 0) else { continue }
            view.enterRefund(of: transaction, rows.text(row, 1), rows.text(row, 2), at: rows.timestamp(row, 3))
        }
    }
}

extension LedgerView {
    fileprivate mutating func enterRefund(
        of transaction: String, _ bundle: String?, _ environment: String?, at time: Timestamp?
    ) {
        guard let bundle, let environment = environment.flatMap(StoreEnvironment.init(rawValue:)), let time else {
            return
        }
        let key = RefundKey(
            transactionID: Identifier(transaction), bundleID: Identifier(bundle), environment: environment)
        refunds[key] = time
    }
}
