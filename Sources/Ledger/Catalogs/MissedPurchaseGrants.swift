import Fulfillment
import Postgres

/// The time from which each app's missed purchases are delivered: the first import of a catalog that grants them.
enum MissedPurchaseGrants {
    private static let keeping = LedgerSQL.statement(PackageResources.insert_missed_purchase_grants_sql)

    /// Writes the time for new apps. Writes nothing for an app that has a time.
    /// - Parameters:
    ///   - apps: the apps that grant missed purchases, sorted.
    ///   - catalog: the version of the catalog that grants them.
    static func keep(_ apps: [BundleID], since catalog: Int64, in session: PostgresSession) throws {
        guard !apps.isEmpty else { return }
        try session.execute(keeping, [.identifiers(apps), .int8(catalog)])
    }
}
