import Kafka

/// The properties of librdkafka's clients: first receiptd's own properties, then the operator's properties.
package struct KafkaClientProperties {
    /// The most kilobytes of prefetched records. One response of each broker may come on top.
    static let prefetchKilobytes = 4096
    /// The most bytes of a broker's response to a fetch, before decompression. Compressed receipts take several times
    /// as much memory.
    static let fetchBytes = 2 * 1024 * 1024
    /// The most bytes of a whole response. A response is larger than `fetchBytes` if a single batch is. `answerBytes`
    /// is also the most bytes of one decompressed Zstandard batch. `UnpackingLimit` limits all batches of a response
    /// together.
    static let answerBytes = 64 * 1024 * 1024
    /// The most bytes of a record on the dead-letter topic. If the broker refuses a record as too large, receiptd
    /// publishes an excerpt.
    static let maximumRecordBytes = 16 * 1024 * 1024

    /// The milliseconds after which a consumer looks again for a missing optional topic.
    static let topicRefreshMilliseconds = 30_000
    /// The most kilobytes of prefetched records of an optional topic, which has few records.
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
                // librdkafka's event at the end of a partition shows that the client may read the partition.
                ("enable.partition.eof", "true"),
            ] + Self.fetchBackoff(KafkaLibrary.version) + fetchLimit + settings.properties.pairs)
    }

    /// Returns the property that sets how long librdkafka postpones a fetch because enough records are prefetched. The
    /// default is a second. librdkafka before 2.2 does not have the property, so the worker wakes the fetching threads
    /// instead.
    static func fetchBackoff(_ version: Int32) -> [(name: String, value: String)] {
        version >= 0x0202_0000 ? [("fetch.queue.backoff.ms", "10")] : []
    }

    /// The sizes of fetches; empty if the operator sets any of these sizes. librdkafka then derives the other sizes
    /// from the operator's. librdkafka refuses a `fetch.max.bytes` below `message.max.bytes`, and a
    /// `receive.message.max.bytes` below `fetch.max.bytes`.
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

    /// Returns the properties of a consumer of an optional topic, in a group of its own. The consumer refreshes its
    /// metadata often, so that it soon finds a topic that was missing.
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
