import Fulfillment
import NamesAndTimes
import Postgres

enum FindGrantedPeriods {
    private static let statement = LedgerSQL.statement(PackageResources.find_granted_periods_sql)

    /// Adds to the view which periods of `purchases` are granted and not wholly revoked. The claims of their originals
    /// must be locked. Without purchases there is no round trip.
    static func run(
        of purchases: some Sequence<PeriodPurchase>, into view: inout LedgerView, in session: PostgresSession
    ) throws {
        let wanted = Array(Set(purchases))
        guard !wanted.isEmpty else { return }
        let rows = try session.execute(
            statement,
            [
                .identifiers(wanted.lazy.map(\.period.originalTransactionID)),
                .identifiers(wanted.lazy.map(\.period.productID)), .timestamps(wanted.map(\.period.expiresAt)),
                .timestamps(wanted.map(\.purchasedAt)),
                .textArray(wanted.map { $0.previousOriginalTransactionID?.text }),
                .identifiers(wanted.lazy.map(\.app.bundleID)), .textArray(wanted.map(\.app.environment.rawValue)),
            ])
        let (original, product) = (try rows.column("original_transaction_id"), try rows.column("product_id"))
        let (end, transaction) = (try rows.column("expires_at"), try rows.column("transaction_id"))
        let bought = try rows.column("purchased_at")
        for row in 0..<rows.count {
            guard let original = rows.text(row, original), let product = rows.text(row, product),
                let end = rows.timestamp(row, end), let transaction = rows.text(row, transaction)
            else { continue }
            let period = GrantedPeriod(
                originalTransactionID: Identifier(original), productID: Identifier(product), expiresAt: end)
            view.periods[period, default: [:]][Identifier(transaction)] = rows.timestamp(row, bought) ?? end
        }
    }
}
