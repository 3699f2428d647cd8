import Kafka
import Operations

/// Sends a request to Kafka every few seconds, to see whether a broker answers. librdkafka reports that brokers are
/// lost, but not that brokers are back.
struct BrokerWatch: Sendable {
    private static let pauseSeconds = 5.0
    /// The seconds until the next request after a failure. The pause is short, so that one late answer does not make
    /// the process unready.
    private static let retrySeconds = 2.0
    private static let timeoutMilliseconds: Int32 = 3_000

    /// Sends a request, and blocks until a broker answers or the given milliseconds have passed. Throws if no broker
    /// answers, and if the broker's answer is an error.
    let ask: @Sendable (Int32) throws(KafkaError) -> Void
    let health: Health
    /// The part that recovers when a broker answers. The parts that depend on this part recover too.
    var recovers = FailingPart.kafka

    /// Runs until it is cancelled.
    func run() async {
        while !Task.isCancelled {
            var seconds = Self.pauseSeconds
            if let error = await failure() {
                health.failures.report(error, of: .kafka)
                seconds = Self.retrySeconds
            } else {
                health.set(.brokerReached, unmet: nil)
                health.failures.recovered(recovers)
            }
            guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { return }
        }
    }

    /// Sends one request. Returns nil if a broker answered, even with an error.
    private func failure() async -> KafkaError? {
        await withCheckedContinuation { continuation in
            BlockingWork.run { [ask] in
                do throws(KafkaError) {
                    try ask(Self.timeoutMilliseconds)
                    continuation.resume(returning: nil)
                } catch {
                    continuation.resume(returning: error.isBrokersAnswer ? nil : error)
                }
            }
        }
    }
}

extension KafkaError {
    /// True if a broker sent the code. librdkafka's own codes are negative.
    fileprivate var isBrokersAnswer: Bool { code > 0 }
}
