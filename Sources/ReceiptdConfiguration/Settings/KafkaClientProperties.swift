import Kafka

/// The properties of librdkafka's clients: receiptd's own, then the operator's.
package struct KafkaClientProperties {
    /// Kilobytes of prefetched records; an answer of each broker may come on top.
    static let prefetchKilobytes = 4096
    /// Bytes of one broker's answer to a fetch, as they come: compressed receipts take several times as much in memory.
    static let fetchBytes = 2 * 1024 * 1024
    /// Bytes of one broker's whole answer, which is more than `fetchBytes` where a single batch is; and bytes that one
    /// Zstandard batch may unpack to. For what all batches of an answer unpack to see `UnpackingLimit`.
    static let answerBytes = 64 * 1024 * 1024
    /// Bytes of one record to the dead-letter topic; the broker's own limit decides, and an excerpt follows.
    static let maximumRecordBytes = 16 * 1024 * 1024

    /// The time after which notifications are read of a topic that was not there.
    static let topicRefreshMilliseconds = 30_000
    /// Kilobytes of prefetched notifications, of which there are few.
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
                // The end of a partition shows that it may be read.
                ("enable.partition.eof", "true"),
            ] + Self.fetchBackoff(KafkaLibrary.version) + fetchLimit + settings.properties.pairs)
    }

    /// The pause of a fetch that found enough prefetched: a second unless told, and not to be told before 2.2, where the
    /// worker wakes the fetching threads instead.
    static func fetchBackoff(_ version: Int32) -> [(name: String, value: String)] {
        version >= 0x0202_0000 ? [("fetch.queue.backoff.ms", "10")] : []
    }

    /// Sizes that go together: librdkafka takes no `fetch.max.bytes` below `message.max.bytes`, and no
    /// `receive.message.max.bytes` below that. Where the operator gives one, it finds the others by itself.
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

    /// Makes a consumer in a group of its own, with a shorter wait for a topic that is made later: it is optional.
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
