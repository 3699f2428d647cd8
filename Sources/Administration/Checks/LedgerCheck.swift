import Ledger
import Postgres
import ReceiptdConfiguration

/// Checks that the role of `DATABASE_URL` may run each statement of a worker. The check runs the statements in an SQL
/// transaction that it rolls back.
package enum LedgerCheck {
    package static func run(_ database: DatabaseSettings) async -> Result<String, CheckFailure> {
        do {
            let faults = try await withSchema(database) { pool in
                try await pool.run { try LedgerRehearsal.run(in: $0) }
            }
            guard faults.isEmpty else {
                let lines = faults.map { "cannot \($0.work): \($0.sqlState) \($0.message)" }
                return .failure(CheckFailure(lines.joined(separator: "\n        ")))
            }
            return .success(
                "the role may run every statement of a worker. The check wrote a grant and a hold, and rolled them back"
            )
        } catch {
            return .failure(CheckFailure(error))
        }
    }
}
