import Kafka

/// Explains a consumer's errors in words that say what can be done about them.
enum ConsumerTrouble {
    /// Returns nil if the error's own name says all.
    static func words(_ error: KafkaError) -> String? {
        switch error.code {
        case KafkaError.Code.fencedInstanceID:
            "another replica joined with the same group.instance.id: give each replica one of its own, or none"
        case KafkaError.Code.groupAuthorizationFailed: "Kafka does not allow using the consumer group"
        case KafkaError.Code.topicAuthorizationFailed: "Kafka does not allow reading \(topic(error))"
        case KafkaError.Code.unknownTopicOrPartition, KafkaError.Code.unknownTopic: "there is no \(topic(error))"
        default: nil
        }
    }

    private static func topic(_ error: KafkaError) -> String {
        error.place.map { "topic \($0.topicPartition.topic)" } ?? "the topic"
    }
}
