import Kafka
import Operations

/// Asks Kafka every few seconds whether it is there. librdkafka says that brokers went, and not that they are back.
struct BrokerWatch: Sendable {
    private static let pauseSeconds = 5.0
    /// The seconds between two questions after a failure, so that one late answer makes nobody unready.
    private static let retrySeconds = 2.0
    private static let timeoutMilliseconds: Int32 = 3_000

    /// Blocks until a broker has answered, at most for so many milliseconds.
    let ask: @Sendable (Int32) throws(KafkaError) -> Void
    let health: Health
    /// The failing part that an answer shows to work, or to be worth another try.
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

    /// Returns nil if a broker answered, whatever it said.
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
    /// True for a positive code, which is a broker's. Negative codes are librdkafka's own.
    fileprivate var isBrokersAnswer: Bool { code > 0 }
}
