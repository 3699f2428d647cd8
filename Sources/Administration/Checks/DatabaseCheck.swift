import Fulfillment
import Ledger
import Postgres
import ReceiptdConfiguration

/// Checks that PostgreSQL answers, and that this release can read the database's schema and catalog.
package enum DatabaseCheck {
    /// - Returns: the check's line, and the catalog; nil if there is no catalog that this release can read.
    package static func run(
        _ database: DatabaseSettings
    ) async -> (result: Result<CheckFinding, CheckFailure>, catalog: Catalog?) {
        do {
            return try await withSchema(database) { pool in
                let store = CatalogStore(pool: pool)
                guard let version = try await store.latestVersion(), let stored = try await store.load(version: version)
                else { return (.failure(CheckFailure("no catalog yet: run `receiptd catalog import FILE`")), nil) }
                let state = try await pool.run { try Schema.check($0) }
                switch parsed(stored) {
                case .success(let catalog): return (.success(finding(state, version)), catalog)
                case .failure(let faults): return (.failure(failure(faults, version)), nil)
                }
            }
        } catch {
            return (.failure(CheckFailure(error)), nil)
        }
    }

    private static func finding(_ state: Schema.State, _ catalog: Int64) -> CheckFinding {
        guard case .newer(let found) = state else {
            return CheckFinding("schema \(Schema.currentVersion), catalog \(catalog)")
        }
        return CheckFinding(
            """
            schema \(found), catalog \(catalog): a newer release has migrated the database, and this release knows \
            schema \(Schema.currentVersion). It keeps working during the upgrade
            """, isWarning: true)
    }

    private static func failure(_ faults: CatalogFaults, _ catalog: Int64) -> CheckFailure {
        let words =
            "this release cannot read catalog \(catalog): run the release that imported it, or import another catalog "
            + "with that release"
        let lines = [words] + faults.lines(of: nil)
        return CheckFailure(lines.joined(separator: "\n        "), code: CatalogFaults.exitCode)
    }

    /// Parses a stored catalog. This function is not inlined: the optimizer of Swift 6.3 crashes on a typed throw that
    /// is inlined into an asynchronous function.
    @inline(never)
    private static func parsed(_ stored: CatalogStore.Stored) -> Result<Catalog, CatalogFaults> {
        Result { () throws(CatalogFaults) in try CatalogFile.parse(stored.document, version: stored.version) }
    }
}
