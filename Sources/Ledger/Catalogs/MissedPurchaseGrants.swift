import Fulfillment
import Postgres

/// For each app the time since which its missed purchases are delivered: the import of the first catalog that grants
/// them.
enum MissedPurchaseGrants {
    private static let keeping = LedgerSQL.statement(PackageResources.insert_missed_purchase_grants_sql)

    /// Writes the time for new apps. A known app keeps its time, without a write.
    /// - Parameters:
    ///   - apps: the apps that grant missed purchases, sorted.
    ///   - catalog: the version of the catalog that says so.
    static func keep(_ apps: [BundleID], since catalog: Int64, in session: PostgresSession) throws {
        guard !apps.isEmpty else { return }
        try session.execute(keeping, [.identifiers(apps), .int8(catalog)])
    }
}
