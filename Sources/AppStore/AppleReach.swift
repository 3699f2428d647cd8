import Fulfillment
import NamesAndTimes
import Synchronization

/// Records which of Apple's addresses answer. receiptd shows outages on the worker's page. The worker logs each outage
/// at its beginning, once a minute, and at its end.
///
/// A failure begins an outage if both are true: it is not the first in a row, and the last answer is at least
/// `quietSeconds` old.
public struct AppleReach: Sendable {
    public struct Outage: Sendable, Equatable, CustomStringConvertible {
        /// The URL without its query.
        public let url: String
        /// The time of the first failure.
        public let since: Timestamp
        /// The cause of the last failure.
        public let cause: String
        public let failures: Int

        public var description: String { "Apple: no answer from \(url) since \(since.rfc3339): \(cause)" }
    }

    public enum News: Sendable, Equatable {
        case gone(Outage)
        /// The outage goes on.
        case lasts(Outage)
        case back(Outage, afterSeconds: Double)
    }

    /// The number of failures in a row that an outage needs to begin.
    static let failures = 2
    /// The seconds without an answer that an outage needs to begin.
    static let quietSeconds = 5.0
    /// The seconds between two reminders of one outage.
    static let reminderSeconds = 60.0

    private struct Address {
        var answeredAt = -Double.infinity
        var failures = 0
        var failedAt = 0.0
        var since = Timestamp(milliseconds: 0)
        var cause = ""
        var toldAt: Double?
    }

    private var addresses: [String: Address] = [:]

    public init() {}

    /// Records the end of a request. Returns the news that the request causes; nil if there is none.
    /// - Parameters:
    ///   - noAnswer: the reason why there was no answer; nil if Apple answered.
    ///   - now: the seconds of a monotonic clock.
    ///   - time: the present time by the wall clock, for people.
    public mutating func note(_ url: String, noAnswer: String?, now: Double, time: Timestamp) -> News? {
        var address = addresses[url] ?? Address()
        defer { addresses[url] = address }
        guard let noAnswer else {
            let outage = Self.outage(url, address)
            let wasTold = address.toldAt != nil
            let seconds = now - address.failedAt
            address = Address(answeredAt: now)
            return wasTold ? .back(outage, afterSeconds: seconds) : nil
        }
        if address.failures == 0 {
            address.failedAt = now
            address.since = time
        }
        address.failures += 1
        address.cause = noAnswer
        return news(url, &address, now: now)
    }

    /// Returns a reminder for each outage whose last report is `reminderSeconds` old.
    public mutating func look(now: Double) -> [News] {
        addresses.keys.sorted().compactMap { url in
            guard var address = addresses[url], address.toldAt != nil else { return nil }
            defer { addresses[url] = address }
            return news(url, &address, now: now)
        }
    }

    /// The addresses that do not answer now.
    public var outages: [Outage] {
        addresses.filter { $0.value.toldAt != nil }.map { Self.outage($0.key, $0.value) }.sorted { $0.url < $1.url }
    }

    private func news(_ url: String, _ address: inout Address, now: Double) -> News? {
        guard address.failures >= Self.failures, now - address.answeredAt >= Self.quietSeconds else { return nil }
        guard let toldAt = address.toldAt else {
            address.toldAt = now
            return .gone(Self.outage(url, address))
        }
        guard now - toldAt >= Self.reminderSeconds else { return nil }
        address.toldAt = now
        return .lasts(Self.outage(url, address))
    }

    private static func outage(_ url: String, _ address: Address) -> Outage {
        Outage(url: url, since: address.since, cause: address.cause, failures: address.failures)
    }
}
