import Foundation
import Fulfillment
import Ledger
import NamesAndTimes
import Operations
import Postgres

/// Compares this process's clock with three others: PostgreSQL's clock, the timestamps of records, and Apple's signing
/// times. It compares at the start and every minute.
package struct ClockWatch: Sendable {
    private static let pauseSeconds = 60.0
    /// If PostgreSQL takes longer than this many seconds to answer, the comparison is not exact enough.
    private static let slowestAnswer = 10.0

    let pool: PostgresPool
    let metrics: ReceiptdMetrics
    let failures: Failures

    package init(pool: PostgresPool, metrics: ReceiptdMetrics, failures: Failures) {
        (self.pool, self.metrics, self.failures) = (pool, metrics, failures)
    }

    /// Runs until it is cancelled.
    package func run() async {
        var differences = ClockDifferences()
        while !Task.isCancelled {
            differences.note(
                database: await aheadOfDatabase(), record: metrics.recordClock.take(),
                apple: metrics.signedClock.take(), now: ProcessInfo.processInfo.systemUptime)
            if let seconds = differences.database { metrics.clockSkew.with("postgresql").set(seconds) }
            metrics.clockSkew.with("record").set(differences.record ?? 0)
            metrics.clockSkew.with("apple").set(differences.apple ?? 0)
            if let complaint = differences.complaint {
                failures.failed(.clocks, complaint)
            } else {
                failures.recovered(.clocks)
            }
            guard (try? await Task.sleep(for: .seconds(Self.pauseSeconds))) != nil else { return }
        }
    }

    /// Returns the seconds by which this process's clock is ahead of PostgreSQL's clock. Nil if PostgreSQL does not
    /// answer, which other parts report, or answers too slowly. Also nil if this process's clock was set back during
    /// the query.
    private func aheadOfDatabase() async -> Double? {
        let before = Date().timeIntervalSince1970
        guard let theirs = try? await DatabaseClock.read(from: pool) else { return nil }
        let after = Date().timeIntervalSince1970
        guard after >= before, after - before < Self.slowestAnswer else { return nil }
        return (before + after) / 2 - Double(theirs.milliseconds) / 1000
    }
}
