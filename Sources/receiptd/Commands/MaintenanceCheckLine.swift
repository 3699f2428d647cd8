import Ledger
import Postgres

/// The line of `receiptd check` for the outcomes' partitions.
enum MaintenanceCheckLine {
    static func run(_ settings: Settings) async -> Result<String, CheckFailure> {
        do {
            return try await withDatabase(settings) { pool in
                try await requireSchema(pool)
                switch try await pool.run({ try MaintenanceCheck.run(in: $0) }) {
                case .able: return .success("days of outcomes can be made and dropped")
                case .busy(let holders): return .success("could not be tried at the moment: \(holders.inWords)")
                case .refused(let reason):
                    return .failure(CheckFailure(message: "days of outcomes cannot be kept: \(reason)"))
                }
            }
        } catch let failure as CommandFailure {
            return .failure(CheckFailure(message: failure.message))
        } catch {
            return .failure(CheckFailure(message: "\(error)"))
        }
    }
}
