import Kafka

/// What librdkafka's clients are given: receiptd's own properties, then the operator's.
struct KafkaClientProperties {
    /// Kilobytes of prefetched records. librdkafka before 2.2 stops fetching for up to a second once it is full, so it
    /// holds more than a second's work at the rates that a worker reaches.
    static let prefetchKilobytes = 12_288
    /// Bytes of one broker's answer to a fetch, as they come: compressed receipts take several times as much in memory.
    static let fetchBytes = 2 * 1024 * 1024
    /// Bytes of one record to the dead-letter topic; the broker's own limit decides, and an excerpt follows.
    static let maximumRecordBytes = 16 * 1024 * 1024

    let settings: KafkaSettings

    var consumer: KafkaProperties {
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
            ] + fetchLimit + settings.properties.pairs)
    }

    /// librdkafka takes none below `message.max.bytes`: where that is given, it finds a limit by itself.
    private var fetchLimit: [(name: String, value: String)] {
        settings.properties.pairs.contains { $0.name == "message.max.bytes" }
            ? [] : [("fetch.max.bytes", String(Self.fetchBytes))]
    }

    var producer: KafkaProperties {
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
