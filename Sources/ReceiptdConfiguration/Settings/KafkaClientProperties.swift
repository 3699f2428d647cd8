import Kafka

/// The properties of librdkafka's clients: receiptd's own first, then the operator's.
package struct KafkaClientProperties {
    /// Kilobytes of prefetched records. An answer of each broker may come on top.
    static let prefetchKilobytes = 4096
    /// Bytes of one broker's answer to a fetch, before unpacking: compressed receipts take several times as much in
    /// memory.
    static let fetchBytes = 2 * 1024 * 1024
    /// Bytes of one broker's whole answer, which exceeds `fetchBytes` if a single batch does. Also the bytes that one
    /// Zstandard batch may unpack to; `UnpackingLimit` bounds all batches of an answer.
    static let answerBytes = 64 * 1024 * 1024
    /// Bytes of one record to the dead-letter topic. If the broker's own limit refuses the record, an excerpt follows.
    static let maximumRecordBytes = 16 * 1024 * 1024

    /// Milliseconds after which a consumer looks again for an optional topic that did not exist.
    static let topicRefreshMilliseconds = 30_000
    /// Kilobytes of prefetched records of an optional topic, which has few records.
    static let notificationsPrefetchKilobytes = 2_048

    package let settings: KafkaSettings

    package init(settings: KafkaSettings) {
        self.settings = settings
    }

    package var consumer: KafkaProperties {
        KafkaProperties(
            common + [
                ("group.id", settings.groupID),
                ("enable.auto.commit", "false"),
                ("enable.auto.offset.store", "false"),
                ("auto.offset.reset", "earliest"),
                ("isolation.level", "read_committed"),
                ("partition.assignment.strategy", "range,roundrobin"),
                ("allow.auto.create.topics", "false"),
                ("fetch.wait.max.ms", "100"),
                ("fetch.error.backoff.ms", "50"),
                ("queued.max.messages.kbytes", String(Self.prefetchKilobytes)),
                // The event at a partition's end shows that the consumer may read the partition.
                ("enable.partition.eof", "true"),
            ] + Self.fetchBackoff(KafkaLibrary.version) + fetchLimit + settings.properties.pairs)
    }

    /// Returns the pause of a fetch while enough records are prefetched; librdkafka's default is a second. Before 2.2
    /// librdkafka lacks the property, and the worker wakes the fetching threads instead.
    static func fetchBackoff(_ version: Int32) -> [(name: String, value: String)] {
        version >= 0x0202_0000 ? [("fetch.queue.backoff.ms", "10")] : []
    }

    /// The sizes of fetches, unless the operator gives one of them; librdkafka then derives the others. It takes no
    /// `fetch.max.bytes` below `message.max.bytes`, and no `receive.message.max.bytes` below `fetch.max.bytes`.
    private var fetchLimit: [(name: String, value: String)] {
        let related: Set = ["message.max.bytes", "fetch.max.bytes", "receive.message.max.bytes"]
        if settings.properties.pairs.contains(where: { related.contains($0.name) }) { return [] }
        return [
            ("fetch.max.bytes", String(Self.fetchBytes)), ("receive.message.max.bytes", String(Self.answerBytes)),
        ]
    }

    package var notificationsConsumer: KafkaProperties { consumer(inGroup: settings.notificationsGroupID) }

    package var accountsConsumer: KafkaProperties { consumer(inGroup: settings.accountsGroupID) }

    package var consumptionConsumer: KafkaProperties { consumer(inGroup: settings.consumptionGroupID) }

    /// Makes the properties of a consumer in a group of its own, which looks sooner for its optional topic.
    private func consumer(inGroup group: String) -> KafkaProperties {
        var properties = consumer
        properties["group.id"] = group
        if properties["topic.metadata.refresh.interval.ms"] == nil {
            properties["topic.metadata.refresh.interval.ms"] = String(Self.topicRefreshMilliseconds)
        }
        properties["queued.max.messages.kbytes"] = String(Self.notificationsPrefetchKilobytes)
        return properties
    }

    package var producer: KafkaProperties {
        KafkaProperties(
            common + [
                ("enable.idempotence", "true"),
                ("acks", "all"),
                ("compression.codec", "lz4"),
                ("linger.ms", "1"),
                ("partitioner", "murmur2_random"),
                ("message.max.bytes", String(Self.maximumRecordBytes)),
            ] + settings.properties.pairs)
    }

    private var common: [(name: String, value: String)] {
        [("bootstrap.servers", settings.bootstrapServers), ("client.id", "receiptd")]
    }
}
