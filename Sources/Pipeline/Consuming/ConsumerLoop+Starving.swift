import Kafka

extension ConsumerLoop {
    /// Nothing is at hand although there are places: wakes librdkafka's threads where the log is known to go on. Once
    /// until the next record, so that a log that ends in something else than records (a transaction's marker, say) costs
    /// no more than one question.
    func feed(_ consumer: KafkaConsumer) {
        guard isFed, !isPaused else { return }
        isFed = false
        consumer.wakeFetchers(
            of: partitions.compactMap { name, partition in
                guard !partition.isPaused, !partition.isHeldBack, let next = partition.next,
                    let marks = consumer.cachedWatermarks(name), marks.high > next
                else { return nil }
                return name
            })
    }
}
