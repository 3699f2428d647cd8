import CRDKafka

extension KafkaConsumer {
    /// The time-out of the requests: long enough to send them.
    private static let sendingMilliseconds: Int32 = 2

    /// Makes librdkafka's threads fetch at once from these partitions' brokers. Blocks for a few milliseconds at most.
    ///
    /// A broker's thread sleeps for a second if the prefetched records reach `queued.max.messages.kbytes`, or if its
    /// partitions are paused. When the application consumes the records, the thread sleeps on, unless librdkafka sends
    /// that broker a request (seen with 2.0.2; since 2.2 `fetch.queue.backoff.ms` bounds the sleep for prefetched
    /// records). So this function sends each broker a small request, and does not wait for the answer.
    public func wakeFetchers(of partitions: [TopicPartition]) {
        guard !partitions.isEmpty, let client = try? handle().pointer else { return }
        // For RD_KAFKA_OFFSET_END the broker need not search its log.
        let times = partitions.map { ($0, Int64(RD_KAFKA_OFFSET_END)) }
        let list = PartitionList(Dictionary(times, uniquingKeysWith: { first, _ in first }))
        // If this call fails, the threads wake when their sleep of one second ends.
        _ = rd_kafka_offsets_for_times(client, list.pointer, Self.sendingMilliseconds)
    }
}
