import Fulfillment
import Kafka

/// A record in memory, with the consumer's data about it and its submission.
struct RecordInHand: Sendable {
    let admitted: AdmittedRecord
    let item: SubmissionInHand

    init(_ admitted: AdmittedRecord, at position: RecordPosition) {
        self.admitted = admitted
        item = SubmissionInHand(admitted, at: position)
    }

    var position: RecordPosition { item.position }
    var topicPartition: TopicPartition { TopicPartition(topic: position.topic, partition: position.partition) }
}
