import Kafka
import Operations
import Synchronization

/// The publications that failed and are being retried. While there is such a publication, the process is not ready, and
/// gives the reason.
final class PublicationTrouble: Sendable {
    private struct Failing {
        var reason: String
        var count: Int
    }

    private let health: Health
    private let failing = Mutex<[String: Failing]>([:])

    init(_ health: Health) { self.health = health }

    /// One publication, from its first failure until Kafka acknowledges it or the publisher gives up.
    final class Owed: Sendable {
        private let trouble: PublicationTrouble
        private let topic: String

        fileprivate init(_ trouble: PublicationTrouble, topic: String) {
            self.trouble = trouble
            self.topic = topic
        }

        deinit { trouble.ended(topic) }
    }

    /// - Parameter owed: the value that this function returned for the publication's earlier failure; nil at the first
    ///   failure.
    func failed(_ error: KafkaError, topic: String, owed: Owed?) -> Owed {
        let reason = "publishing to \(topic) fails: \(Self.words(error))"
        failing.withLock { failing in
            failing[topic, default: Failing(reason: reason, count: 0)].reason = reason
            if owed == nil { failing[topic]?.count += 1 }
            tell(failing)
        }
        return owed ?? Owed(self, topic: topic)
    }

    private func ended(_ topic: String) {
        failing.withLock { failing in
            failing[topic]?.count -= 1
            if failing[topic]?.count == 0 { failing[topic] = nil }
            tell(failing)
        }
    }

    private func tell(_ failing: [String: Failing]) {
        let reasons = failing.sorted { $0.key < $1.key }.map(\.value.reason)
        health.set(.outcomesAcknowledged, unmet: reasons.isEmpty ? nil : reasons.joined(separator: "; "))
    }

    /// Returns the cause of the error, in words for the operator who can correct it.
    static func words(_ error: KafkaError) -> String {
        switch error.code {
        case KafkaError.Code.invalidTimestamp:
            "the broker refuses the record's time: this host's clock is wrong, or the broker's"
        case KafkaError.Code.topicAuthorizationFailed: "Kafka does not allow writing to it"
        case KafkaError.Code.clusterAuthorizationFailed: "Kafka does not allow idempotent writing"
        case KafkaError.Code.unknownTopicOrPartition, KafkaError.Code.unknownTopic: "there is no such topic"
        case KafkaError.Code.messageTooLarge:
            "the record is larger than the topic takes: raise the topic's max.message.bytes"
        case KafkaError.Code.messageTimedOut: "no broker acknowledged in time"
        default: error.name
        }
    }
}
