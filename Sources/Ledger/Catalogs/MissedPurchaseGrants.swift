import Fulfillment
import Postgres

/// The time since which each app's missed purchases are delivered: from the import of the first catalog that said so.
enum MissedPurchaseGrants {
    private static let keeping = LedgerSQL.statement(PackageResources.insert_missed_purchase_grants_sql)

    /// An app that is known keeps its time, and nothing is written of it.
    /// - Parameters:
    ///   - apps: sorted.
    ///   - catalog: the one that says so.
    static func keep(_ apps: [BundleID], since catalog: Int64, in session: PostgresSession) throws {
        guard !apps.isEmpty else { return }
        try session.execute(keeping, [.identifiers(apps), .int8(catalog)])
    }
}
