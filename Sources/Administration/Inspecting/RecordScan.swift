import Kafka

/// Reads stretches of a topic's partitions, without joining a group, until all are read or the time is up. It blocks.
struct RecordScan {
    /// The offsets to read, without the upper bound.
    typealias Stretch = Range<Int64>

    let consumer: KafkaConsumer
    let deadline: ContinuousClock.Instant

    private(set) var records = 0

    /// The milliseconds that a call to the broker may still take. The least is 100, so that a broker out of reach is
    /// found.
    var timeoutMilliseconds: Int32 {
        let left = (deadline - ContinuousClock.now) / .milliseconds(1)
        return Int32(max(100, min(left.rounded(.up), 60_000)))
    }

    init(properties: KafkaProperties, deadline: ContinuousClock.Instant) throws(KafkaError) {
        var properties = properties
        // A stretch may end in records that are not delivered (transaction markers). Only this event shows such an end.
        properties["enable.partition.eof"] = "true"
        consumer = try KafkaConsumer(properties: properties, log: { _ in })
        self.deadline = deadline
    }

    /// Reads the stretches, and returns the partitions that were not read to their stretch's end.
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
