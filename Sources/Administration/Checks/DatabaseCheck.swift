import Ledger
import Postgres
import ReceiptdConfiguration

/// Whether PostgreSQL answers, with the schema and a catalog in place.
package enum DatabaseCheck {
    package static func run(_ database: DatabaseSettings) async -> Result<CheckFinding, CheckFailure> {
        do {
            return try await withSchema(database) { pool in
                guard let version = try await CatalogStore(pool: pool).latestVersion() else {
                    return .failure(CheckFailure("no catalog yet: run `receiptd catalog import FILE`"))
                }
                guard case .newer(let found) = try await pool.run({ try Schema.check($0) }) else {
                    return .success(CheckFinding("schema \(Schema.currentVersion), catalog \(version)"))
                }
                return .success(
                    CheckFinding(
                        """
                        schema \(found), catalog \(version): a newer release has migrated the database, and this one knows \
                        schema \(Schema.currentVersion). It works for as long as the upgrade lasts
                        """, isWarning: true))
            }
        } catch {
            return .failure(CheckFailure(error))
        }
    }
}
