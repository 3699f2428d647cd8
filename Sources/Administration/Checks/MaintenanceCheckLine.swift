import Ledger
import Postgres
import ReceiptdConfiguration

/// The line of `receiptd check` about the right to create and drop partitions of the outcomes table.
package enum MaintenanceCheckLine {
    package static func run(_ database: DatabaseSettings) async -> Result<String, CheckFailure> {
        do {
            return try await withSchema(database) { pool in
                switch try await pool.run({ try MaintenanceCheck.run(in: $0) }) {
                case .able: return .success("the role can make and drop the day partitions of outcomes")
                case .busy(let holders):
                    return .success("not checked, because other sessions hold the tables: \(holders.inWords)")
                case .refused(let reason):
                    return .failure(
                        CheckFailure("the role cannot make and drop the day partitions of outcomes: \(reason)"))
                }
            }
        } catch {
            return .failure(CheckFailure(error))
        }
    }
}
