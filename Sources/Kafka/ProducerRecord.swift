public struct ProducerRecord: Sendable, Hashable {
    public var topic: String
    /// The partition; nil lets the `partitioner` property choose a partition by the key. librdkafka's default
    /// partitioner differs from Java's: set `partitioner=murmur2_random` for Java's partitions.
    public var partition: Int32?
    public var key: [UInt8]?
    public var value: [UInt8]?
    public var headers: [KafkaHeader]
    /// Milliseconds since 1970; nil means the time of `produce`.
    public var timestampMilliseconds: Int64?

    public init(
        topic: String,
        partition: Int32? = nil,
        key: [UInt8]? = nil,
        value: [UInt8]?,
        headers: [KafkaHeader] = [],
        timestampMilliseconds: Int64? = nil
    ) {
        self.topic = topic
        self.partition = partition
        self.key = key
        self.value = value
        self.headers = headers
        self.timestampMilliseconds = timestampMilliseconds
    }
}

/// The place of a delivered record in the log. The offset is -1 if the broker does not return it (`acks=0`).
public struct Delivery: Sendable, Hashable {
    public let topicPartition: TopicPartition
    public let offset: Int64

    public init(topicPartition: TopicPartition, offset: Int64) {
        self.topicPartition = topicPartition
        self.offset = offset
    }
}
