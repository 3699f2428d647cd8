import CRDKafka

/// Reads all of a topic, for tests and tools.
public enum TopicReader {
    /// Reads every partition from its low watermark up to its high watermark at the time of the call, without joining a
    /// group. Keeps all records in memory, and returns them sorted by partition and offset. Blocks. Throws `_TIMED_OUT`
    /// if reading all partitions takes longer than the time-out.
    public static func readAll(
        topic: String,
        properties: KafkaProperties,
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [ConsumerRecord] {
        var records: [ConsumerRecord] = []
        try forEach(topic: topic, properties: properties, timeoutMilliseconds: timeoutMilliseconds) {
            records.append($0)
        }
        return records.sorted { ($0.topicPartition, $0.offset) < ($1.topicPartition, $1.offset) }
    }

    /// Reads the topic as `readAll` does, but passes each record to `body` when the record arrives. Each partition's
    /// records come in order.
    public static func forEach(
        topic: String,
        properties: KafkaProperties,
        timeoutMilliseconds: Int32,
        _ body: (ConsumerRecord) -> Void
    ) throws(KafkaError) {
        let deadline = ContinuousClock.now + .milliseconds(Int(timeoutMilliseconds))
        var properties = properties
        properties["group.id"] = properties["group.id"] ?? "topic-reader"
        properties["enable.auto.commit"] = "false"
        properties["auto.offset.reset"] = "earliest"
        // A log may end in transaction markers, which a consumer does not get. Only a partition's end event shows that
        // end.
        properties["enable.partition.eof"] = "true"
        let consumer = try KafkaConsumer(properties: properties, log: { _ in })
        defer { consumer.close() }

        let partitions = try consumer.metadata(topic: topic, timeoutMilliseconds: remaining(deadline)).topics[topic]
        var starts: [TopicPartition: Int64] = [:]
        var ends: [TopicPartition: Int64] = [:]
        for id in partitions ?? [] {
            let partition = TopicPartition(topic: topic, partition: id)
            let (low, high) = try consumer.watermarks(partition, timeoutMilliseconds: remaining(deadline))
            guard low < high else { continue }
            starts[partition] = low
            ends[partition] = high
        }
        guard !starts.isEmpty else { return }
        try consumer.assign(starts)
        while !ends.isEmpty {
            switch consumer.poll(timeoutMilliseconds: try remaining(deadline)) {
            case .record(let record):
                guard let end = ends[record.topicPartition] else { continue }
                if record.offset < end { body(record) }
                if record.offset >= end - 1 { ends[record.topicPartition] = nil }
            case .partitionEnd(let partition, _):
                ends[partition] = nil
            case .trouble(let error) where !error.isRetriable:
                throw error
            case .trouble, nil:
                continue
            }
        }
    }

    private static func remaining(_ deadline: ContinuousClock.Instant) throws(KafkaError) -> Int32 {
        let left = (deadline - ContinuousClock.now) / .milliseconds(1)
        guard left > 0 else { throw KafkaError(RD_KAFKA_RESP_ERR__TIMED_OUT) }
        return Int32(left.rounded(.up))
    }
}
