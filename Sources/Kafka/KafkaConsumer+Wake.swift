import CRDKafka

extension KafkaConsumer {
    /// The milliseconds that suffice to send the questions.
    private static let sendingMilliseconds: Int32 = 2

    /// Makes librdkafka's threads look at once whether these partitions' brokers have records.
    ///
    /// A thread sleeps for a second if the prefetched records reach `queued.max.messages.kbytes`, or if its partitions
    /// are paused. It sleeps on when the records are consumed, unless its broker is sent something (seen with 2.0.2;
    /// since 2.2 `fetch.queue.backoff.ms` bounds the sleep of the first case). So this function sends each broker a
    /// question, and does not wait for the answer. Blocks for a few milliseconds at most.
    public func wakeFetchers(of partitions: [TopicPartition]) {
        guard !partitions.isEmpty, let client = try? handle().pointer else { return }
        // The broker has the answer to the time RD_KAFKA_OFFSET_END at hand.
        let times = partitions.map { ($0, Int64(RD_KAFKA_OFFSET_END)) }
        let list = PartitionList(Dictionary(times, uniquingKeysWith: { first, _ in first }))
        // If this fails, the threads wake by themselves, later.
        _ = rd_kafka_offsets_for_times(client, list.pointer, Self.sendingMilliseconds)
    }
}
