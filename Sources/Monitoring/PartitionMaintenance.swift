import Fulfillment
import Ledger
import Logging
import NamesAndTimes
import Operations

/// Creates and drops the day partitions of the outcomes table. No part of the worker waits for this task, and no part
/// stops when this task fails.
package struct PartitionMaintenance: Sendable {
    private static let secondsBetweenLooks = 900.0
    /// The seconds until the next round if a round was blocked, failed, or left rows to move. This is often enough to
    /// create tomorrow's partition in time, and rare enough not to disturb the writers.
    private static let secondsAfterTrouble = 60.0

    let retention: OutcomeRetention
    let metrics: ReceiptdMetrics
    let failures: Failures
    let logger: Logger

    package init(retention: OutcomeRetention, metrics: ReceiptdMetrics, failures: Failures, logger: Logger) {
        (self.retention, self.metrics, self.failures, self.logger) = (retention, metrics, failures, logger)
    }

    package func run() async {
        while !Task.isCancelled {
            let (trouble, isUnfinished) = await look()
            if let trouble {
                failures.failed(.maintenance, trouble)
            } else {
                failures.recovered(.maintenance)
            }
            let seconds = trouble == nil && !isUnfinished ? Self.secondsBetweenLooks : Self.secondsAfterTrouble
            guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { return }
        }
    }

    /// Runs one round of maintenance. Returns the problem, if any, and whether the default partition has more rows to
    /// move.
    private func look() async -> (trouble: String?, isUnfinished: Bool) {
        do {
            let report = try await retention.run(now: WallClock.now)
            return (tell(of: report), report.isMoreToMove)
        } catch {
            return ("\(error)", false)
        }
    }

    private func tell(of report: OutcomeRetention.Report) -> String? {
        if report.moved > 0 {
            logger.info("the worker moved outcomes out of the default partition", [.count: "\(report.moved)"])
        }
        for table in report.made { logger.info("the worker made a day's partition of outcomes", [.detail: "\(table)"]) }
        for table in report.dropped {
            logger.notice("the worker dropped a day's partition of outcomes", [.detail: "\(table)"])
        }
        noteUnknownApps(report.pruned.unknownApps)
        if let difference = report.clockDifference {
            let seconds = Int(difference.rounded())
            let clocks = "PostgreSQL's clock is \(abs(seconds)) s \(seconds > 0 ? "ahead of" : "behind") the worker's"
            return "\(clocks): the worker deletes no old rows"
        }
        if let blockers = report.blockers { return blockers.inWords }
        if !report.skipped.isEmpty {
            let days = report.skipped.joined(separator: ", ")
            return "outcomes_default holds rows, so no partition is made for \(days): "
                + "a worker moves the rows after ten minutes, and `receiptd migrate` moves them at once"
        }
        return nil
    }

    private func noteUnknownApps(_ dropped: Int) {
        guard dropped > 0 else { return }
        metrics.unknownAppsDropped.increment(by: dropped)
        logger.warning(
            "too many purchases of apps that the catalog does not have: the worker deleted the oldest",
            [
                .count: .stringConvertible(dropped),
                .detail:
                    "\(PostgresAnnouncements.maximumOfUnknownApps) are kept: `receiptd unclaimed list` names the apps",
            ])
    }
}
