import Kafka

/// Explains a consumer's errors to an operator who can correct the cause.
enum ConsumerTrouble {
    /// Returns an explanation; nil if the error's name explains enough.
    static func words(_ error: KafkaError) -> String? {
        switch error.code {
        case KafkaError.Code.fencedInstanceID:
            "another replica joined with the same group.instance.id: give each replica its own id, or set none"
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
