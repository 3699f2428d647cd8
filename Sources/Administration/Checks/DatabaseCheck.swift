import Ledger
import Postgres
import ReceiptdConfiguration

/// Whether PostgreSQL answers, with the schema and a catalog in place.
package enum DatabaseCheck {
    package static func run(_ database: DatabaseSettings) async -> Result<String, CheckFailure> {
        do {
            return try await withSchema(database) { pool in
                guard let version = try await CatalogStore(pool: pool).latestVersion() else {
                    return .failure(CheckFailure("no catalog yet: run `receiptd catalog import FILE`"))
                }
                return .success("schema \(Schema.currentVersion), catalog \(version)")
            }
        } catch {
            return .failure(CheckFailure(error))
        }
    }
}
