import Ledger
import Postgres

/// Upgrades the schema for `receiptd migrate`, and turns PostgreSQL's errors into exit codes.
package enum SchemaMigration {
    /// Migrates the schema, and returns the state before the migration. Throws a failure with exit code 69 if another
    /// session locks the tables, 78 if the role lacks a right.
    /// - Parameter tell: called with each line for the operator.
    package static func run(
        in pool: PostgresPool, tell: @escaping @Sendable (String) -> Void
    ) async throws -> Schema.State {
        do {
            return try await pool.run { session in try Schema.migrate(session, tell: tell) }
        } catch let error as PostgresError where error.sqlState == "55P03" {
            throw CommandFailure(
                "\(error.message); run `receiptd migrate` again once the tables are free",
                code: CommandFailure.unavailable)
        } catch let error as PostgresError where error.sqlState == "42501" {
            guard let remedy = try await pool.run({ try Schema.missingRight(in: $0) }) else { throw error }
            throw CommandFailure("PostgreSQL refuses: \(error.message): \(remedy)", code: CommandFailure.wrongSettings)
        }
    }
}
