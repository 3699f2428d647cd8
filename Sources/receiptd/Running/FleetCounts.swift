import Ledger
import Logging
import Operations
import Postgres

/// The fleet's counts for the metrics, now and then, and whether the database answers.
struct FleetCounts: Sendable {
    private static let countSeconds = 5.0

    let pool: PostgresPool
    let metrics: ReceiptdMetrics
    let health: Health
    let logger: Logger

    func run() async {
        let floor = OutboxFloor()
        while !Task.isCancelled {
            do {
                let counted = try await LedgerCounts.read(from: pool, floor: floor)
                metrics.parked.set(counted.parked)
                metrics.held.set(counted.held)
                metrics.outboxPending.set(counted.outboxPending)
                health.failures.recovered(.counts)
            } catch {
                health.failures.failed(.counts, error)
            }
            guard (try? await Task.sleep(for: .seconds(Self.countSeconds))) != nil else { return }
        }
    }
}
