import Kafka

/// Reads ranges of offsets from a topic's partitions, without joining a group, until the deadline. It blocks the
/// thread.
struct RecordScan {
    /// The offsets to read in one partition.
    typealias Stretch = Range<Int64>

    let consumer: KafkaConsumer
    let deadline: ContinuousClock.Instant

    private(set) var records = 0

    /// The milliseconds that the next call to the broker may take. It is at least 100, so that a call finds out that
    /// the broker cannot be reached.
    var timeoutMilliseconds: Int32 {
        let left = (deadline - ContinuousClock.now) / .milliseconds(1)
        return Int32(max(100, min(left.rounded(.up), 60_000)))
    }

    init(properties: KafkaProperties, deadline: ContinuousClock.Instant) throws(KafkaError) {
        var properties = properties
        // The last records may be transaction markers, which librdkafka does not deliver. Only librdkafka's event about
        // the partition's end then shows that the log ends there.
        properties["enable.partition.eof"] = "true"
        consumer = try KafkaConsumer(properties: properties, log: { _ in })
        self.deadline = deadline
    }

    /// Reads the ranges, and returns the partitions whose range it did not read to the end.
    mutating func read(
        _ stretches: [TopicPartition: Stretch], _ body: (ConsumerRecord) -> Void
    ) throws(KafkaError) -> Set<TopicPartition> {
        var open = stretches.filter { !$0.value.isEmpty }
        guard !open.isEmpty else { return [] }
        try consumer.assign(open.mapValues(\.lowerBound))
        while !open.isEmpty, ContinuousClock.now < deadline {
            switch consumer.poll(timeoutMilliseconds: min(timeoutMilliseconds, 200)) {
            case .record(let record):
                guard let stretch = open[record.topicPartition] else { continue }
                if stretch.contains(record.offset) {
                    records += 1
                    body(record)
                }
                if record.offset >= stretch.upperBound - 1 { open[record.topicPartition] = nil }
            case .partitionEnd(let partition, _): open[partition] = nil
            case .trouble(let error) where !error.isRetriable: throw error
            case .trouble, nil: continue
            }
        }
        return Set(open.keys)
    }
}
