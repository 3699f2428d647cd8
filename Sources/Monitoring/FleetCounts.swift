import Fulfillment
import Ledger
import Logging
import Operations
import Postgres

/// Counts rows in PostgreSQL for the metrics: parked submissions, holds, outbox rows, unclaimed purchases and
/// subscriptions of the whole fleet.
package struct FleetCounts: Sendable {
    private static let countSeconds = 5.0
    /// Every twelfth round also counts the subscriptions by state.
    private static let turnsOfStates = 12

    let pool: PostgresPool
    let catalog: @Sendable () -> Catalog
    let outboxFloor: PollFloor
    let metrics: ReceiptdMetrics
    let health: Health
    let logger: Logger

    package init(
        pool: PostgresPool, outboxFloor: PollFloor, catalog: @escaping @Sendable () -> Catalog,
        metrics: ReceiptdMetrics, health: Health, logger: Logger
    ) {
        (self.pool, self.outboxFloor, self.catalog) = (pool, outboxFloor, catalog)
        (self.metrics, self.health, self.logger) = (metrics, health, logger)
    }

    package func run() async {
        var turn = 0
        while !Task.isCancelled {
            do {
                let counted = try await LedgerCounts.read(from: pool, floor: outboxFloor)
                metrics.parked.set(counted.parked)
                metrics.held.set(counted.held)
                metrics.outboxPending.set(counted.outboxPending)
                try await countSubscriptions(states: turn % Self.turnsOfStates == 0)
                turn += 1
                metrics.unclaimed.set(counted.unclaimed)
                health.failures.recovered(.counts)
            } catch {
                health.failures.failed(.counts, error)
            }
            guard (try? await Task.sleep(for: .seconds(Self.countSeconds))) != nil else { return }
        }
    }

    private func countSubscriptions(states: Bool) async throws {
        let followed = catalog().apps.values.filter(\.followsRenewals).map(\.bundleID)
        let counted = try await SubscriptionCounts.read(followed: followed, countsStates: states, from: pool)
        for (state, count) in counted.states { metrics.subscriptions.with(state.rawValue).set(count) }
        metrics.subscriptionChecksOverdue.set(counted.overdue)
    }
}
