import AppStore
import AppleProofs
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import ReceiptdConfiguration

/// Asks Apple which transactions belong to an order id, which the customer finds in Apple's e-mail (Look Up Order ID).
package struct AppleOrder: Sendable {
    private let settings: Settings
    private let secrets: SecretSource
    private let pool: PostgresPool

    package init(_ settings: Settings, _ secrets: SecretSource, in pool: PostgresPool) {
        (self.settings, self.secrets, self.pool) = (settings, secrets, pool)
    }

    /// Returns the order's transactions. Asks Apple for each app with `server_api`, until Apple knows the order. Throws
    /// a `CommandFailure` if no answer has the order. Throws a `PostgresError`.
    package func transactions(of order: String) async throws -> [NotifiedTransaction] {
        let catalog = try await StoredCatalog.latest(in: CatalogStore(pool: pool))
        let apps = catalog.map { Array($0.apps.values) } ?? []
        let asked = apps.sorted { $0.bundleID.text < $1.bundleID.text }.filter { $0.serverAPI != nil }
        guard !asked.isEmpty else {
            throw CommandFailure(
                "no app of the catalog has server_api, which the search for an order needs",
                code: CommandFailure.wrongSettings)
        }
        let client = try ServerAPIClient(
            settings: settings.apple.client, secrets: { [secrets] in secrets.secret(named: $0) },
            proofs: ProofReader(roots: settings.apple.roots), observer: ReachNote())
        var failure: CommandFailure?
        var found: [NotifiedTransaction] = []
        for app in asked where found.isEmpty {
            guard let credentials = app.serverAPI else { continue }
            let bundleID = app.bundleID
            let context = StoreQueryContext(
                bundleID: bundleID, credentials: credentials, environment: .production, share: .submission)
            switch await client.lookUpOrder(order, context) {
            case .answered(let transactions): found = transactions
            case .notFound, .refused: break
            case .blocked:
                failure = CommandFailure(
                    "Apple refuses the credentials of \(ShownText.plain(bundleID.text)): run `receiptd check`",
                    code: CommandFailure.wrongSettings)
            case .trouble:
                failure = CommandFailure(
                    "Apple gives no answer about \(ShownText.plain(bundleID.text)): try again, or run `receiptd check`",
                    code: CommandFailure.unavailable)
            }
        }
        await client.shutdown()
        if !found.isEmpty { return found }
        throw failure ?? CommandFailure("Apple knows no order \(ShownText.quoted(order)) of any app", code: 1)
    }

    /// Returns a sentence with the transaction's state at Apple, which `inspect` prints beside the ledger's state.
    package static func sentence(_ transaction: NotifiedTransaction) -> String {
        let purchase = transaction.purchase
        let refunded = purchase.cancelledAt.map { "; Apple refunded it at \($0.rfc3339)" } ?? ""
        return "transaction \(ShownText.plain(purchase.transactionID.text)): \(purchase.quantity) x "
            + "\(ShownText.plain(purchase.productID.text)) of \(ShownText.plain(transaction.bundleID.text)), bought at "
            + "\(purchase.hasUnreadablePurchaseTime ? "a time that cannot be read" : purchase.purchasedAt.rfc3339)\(refunded)"
    }
}
