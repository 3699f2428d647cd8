import Ledger
import Logging
import Operations
import Postgres

/// What has to be done now and then: partitions made and dropped, the fleet's counts for the metrics, and whether the
/// database answers.
struct Upkeep: Sendable {
    private static let countSeconds = 5.0
    /// Rounds of counting between two looks at the partitions: a quarter of an hour.
    private static let roundsBetweenMaintenance = 180

    let pool: PostgresPool
    let retention: OutcomeRetention
    let metrics: ReceiptdMetrics
    let health: Health
    let logger: Logger

    func run() async {
        var round = 0
        while !Task.isCancelled {
            if round % Self.roundsBetweenMaintenance == 0 { await maintain() }
            round += 1
            do {
                let counted = try await LedgerCounts.read(from: pool)
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

    private func maintain() async {
        do {
            _ = try await retention.run()
            health.failures.recovered(.maintenance)
        } catch {
            health.failures.failed(.maintenance, error)
        }
    }
}
