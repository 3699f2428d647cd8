import Foundation

/// A part that has to run until the process stops. If it ends earlier, the process stops in order and exits 1.
/// Otherwise the process would run on without the part, and nobody would notice.
public enum EndlessPart: String, CaseIterable, Sendable {
    case httpServer = "http-server"
    case failureReports = "failure-reports"
    case catalogWatch = "catalog-watch"
    case fleetCounts = "fleet-counts"
    case maintenance
    case appleLimits = "apple-limits"
    case appleReach = "apple-reach"
    case clockWatch = "clock-watch"
    case trafficCounts = "traffic-counts"
    case incidentKeeping = "incident-keeping"
    case brokerWatch = "broker-watch"
    case topicWatch = "topic-watch"
    case databaseWatch = "database-watch"
    case outboxSweep = "outbox-sweep"
    case parkedLoop = "parked-loop"
    case heldLoop = "held-loop"
    case announcedLoop = "announced-loop"
    case notificationLoop = "notification-loop"
    case notificationHistory = "notification-history"
    case subscriptionLoop = "subscription-loop"
    case accountLoop = "account-loop"
    case finishLoop = "finish-loop"
    case refundRequestLoop = "refund-request-loop"
    case consumptionLoop = "consumption-loop"
    case consumerLoop = "consumer-loop"

    /// Runs `body`. Throws `PartEnded` if `body` returns or throws before the process stops.
    /// - Parameter isStopping: returns true once `body` may end.
    public func run(
        isStopping: @Sendable () -> Bool = { Task.isCancelled }, _ body: @Sendable () async throws -> Void
    ) async throws(PartEnded) {
        var cause: (any Error)?
        do {
            #if DEBUG
                if Self.endingEarly == self {
                    try await Task.sleep(for: .seconds(Self.earlyEndSeconds))
                } else {
                    try await body()
                }
            #else
                try await body()
            #endif
        } catch {
            cause = error
        }
        guard !isStopping() else { return }
        throw PartEnded(part: self, underlying: cause)
    }

    #if DEBUG
        /// The seconds after which a part ends early, if a test names the part in `RECEIPTD_END_PART`.
        private static let earlyEndSeconds = 3.0
        private static let endingEarly = ProcessInfo.processInfo.environment["RECEIPTD_END_PART"]
            .flatMap(EndlessPart.init)
    #endif
}

/// A part ended although it has to run until the process stops.
public struct PartEnded: Error, Sendable, CustomStringConvertible {
    public let part: EndlessPart
    /// The error that `body` threw; nil if `body` returned.
    public let underlying: (any Error)?

    public var description: String {
        let cause = underlying.map { ($0 as? any DescribedError)?.failureWords ?? "\(type(of: $0))" }
        return "the \(part.rawValue) ended before the process stopped" + (cause.map { ": \($0)" } ?? "")
    }
}
