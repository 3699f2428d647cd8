import Ledger
import Postgres
import ReceiptdConfiguration

/// The line of `receiptd check` for the outcomes' partitions.
package enum MaintenanceCheckLine {
    package static func run(_ database: DatabaseSettings) async -> Result<String, CheckFailure> {
        do {
            return try await withSchema(database) { pool in
                switch try await pool.run({ try MaintenanceCheck.run(in: $0) }) {
                case .able: return .success("days of outcomes can be made and dropped")
                case .busy(let holders): return .success("could not be tried at the moment: \(holders.inWords)")
                case .refused(let reason):
                    return .failure(CheckFailure("days of outcomes cannot be kept: \(reason)"))
                }
            }
        } catch {
            return .failure(CheckFailure(error))
        }
    }
}
