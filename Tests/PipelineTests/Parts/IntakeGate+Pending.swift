import Kafka

@testable import Pipeline

extension IntakeGate {
    /// Admits all pending records that may begin now.
    mutating func admitPending(
        of partition: TopicPartition, _ admission: CrashIsolation.Admission
    ) -> [ConsumerRecord] {
        var admitted: [ConsumerRecord] = []
        while let record = admitNext(of: partition, admission) { admitted.append(record) }
        return admitted
    }
}
