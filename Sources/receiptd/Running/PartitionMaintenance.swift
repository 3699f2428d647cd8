import Foundation
import Fulfillment
import Ledger
import Logging
import Operations

/// Looks after the outcomes' partitions beside everything else: nothing waits for it, and its failure is told and is
/// nobody's but its own.
struct PartitionMaintenance: Sendable {
    private static let secondsBetweenLooks = 900.0
    /// After a look that was blocked or failed: often enough for tomorrow, and seldom enough for the writers.
    private static let secondsAfterTrouble = 60.0
    /// Between two lines about the same trouble.
    private static let secondsBetweenWarnings = 3600.0

    let retention: OutcomeRetention
    let logger: Logger

    func run() async {
        var warned: ContinuousClock.Instant?
        while !Task.isCancelled {
            let trouble = await look()
            if let trouble {
                if warned.map({ ContinuousClock.now - $0 >= .seconds(Self.secondsBetweenWarnings) }) ?? true {
                    logger.warning(
                        "days of outcomes wait to be made or dropped: records of days without a partition go to the default one",
                        [.reason: "\(trouble)"])
                    warned = .now
                }
            } else if warned != nil {
                logger.info("days of outcomes are kept again")
                warned = nil
            }
            let seconds = trouble == nil ? Self.secondsBetweenLooks : Self.secondsAfterTrouble
            guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { return }
        }
    }

    /// What was in the way, if anything.
    private func look() async -> String? {
        do {
            let now = Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1000))
            let report = try await retention.run(now: now)
            for table in report.made { logger.info("a day of outcomes was made", [.detail: "\(table)"]) }
            for table in report.dropped { logger.notice("a day of outcomes was dropped", [.detail: "\(table)"]) }
            if let difference = report.clockDifference {
                let seconds = Int(difference.rounded())
                return
                    "PostgreSQL's clock is \(abs(seconds)) s \(seconds > 0 ? "ahead of" : "behind") ours: nothing is forgotten"
            }
            if let blockers = report.blockers { return blockers.inWords }
            if !report.skipped.isEmpty {
                return "rows lie in the default partition: \(report.skipped.joined(separator: ", "))"
            }
            return nil
        } catch {
            return "\(error)"
        }
    }
}
