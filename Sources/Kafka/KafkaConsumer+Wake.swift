import CRDKafka

extension KafkaConsumer {
    /// Time enough to send. Nobody waits for the answer.
    private static let sendingMilliseconds: Int32 = 2

    /// Has librdkafka's threads look at once whether there is something to fetch from these partitions' brokers.
    ///
    /// A thread that found the prefetched records to be as many as `queued.max.messages.kbytes` allows, or its partitions
    /// paused, sleeps for a second whatever is consumed meanwhile, unless its broker is sent something (seen with 2.0.2;
    /// since 2.2 `fetch.queue.backoff.ms` bounds that sleep for the first of the two). So each is sent a question, whose
    /// answer nobody waits for. Blocks for a few milliseconds at most.
    public func wakeFetchers(of partitions: [TopicPartition]) {
        guard !partitions.isEmpty, let client = try? handle().pointer else { return }
        // The broker has the answer to the time RD_KAFKA_OFFSET_END at hand.
        let times = partitions.map { ($0, Int64(RD_KAFKA_OFFSET_END)) }
        let list = PartitionList(Dictionary(times, uniquingKeysWith: { first, _ in first }))
        // Failure is no news: then they wake by themselves, later.
        _ = rd_kafka_offsets_for_times(client, list.pointer, Self.sendingMilliseconds)
    }
}
