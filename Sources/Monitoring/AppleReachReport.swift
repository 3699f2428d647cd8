import AppStore
import Fulfillment
import Logging
import NamesAndTimes
import Operations

extension AppleReachWatch {
    /// Returns a watch that reports each of Apple's addresses that does not answer, with the reason: in the log, on the
    /// worker's page and as a metric.
    package static func reporting(to metrics: ReceiptdMetrics, _ logger: Logger) -> AppleReachWatch {
        AppleReachWatch { news, outages in
            metrics.appleOutages.set(outages.map(\.description))
            switch news {
            case .gone(let outage): logger.warning("no answer from Apple", outage.fields)
            case .lasts(let outage): logger.warning("still no answer from Apple", outage.fields)
            case .back(let outage, let seconds):
                logger.notice(
                    "Apple answers again", [.url: "\(outage.url)", .durationSeconds: .stringConvertible(seconds)])
            }
        }
    }
}

extension AppleReach.Outage {
    fileprivate var fields: Logger.Fields {
        [.url: "\(url)", .reason: "\(cause)", .since: "\(since.rfc3339)", .count: .stringConvertible(failures)]
    }
}
