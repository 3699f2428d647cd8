/// A record as it is in the log. A `key` or `value` of nil is Kafka's null, which differs from an empty key or value.
public struct ConsumerRecord: Sendable, Hashable {
    public let topicPartition: TopicPartition
    public let offset: Int64
    /// Milliseconds since 1970; nil if the record has no time. The topic's settings decide whether the producer or the
    /// broker sets the time.
    public let timestampMilliseconds: Int64?
    public let key: [UInt8]?
    public let value: [UInt8]?
    /// The headers in the record's order; a name may occur more than once.
    public let headers: [KafkaHeader]

    public init(
        topicPartition: TopicPartition,
        offset: Int64,
        timestampMilliseconds: Int64? = nil,
        key: [UInt8]? = nil,
        value: [UInt8]? = nil,
        headers: [KafkaHeader] = []
    ) {
        self.topicPartition = topicPartition
        self.offset = offset
        self.timestampMilliseconds = timestampMilliseconds
        self.key = key
        self.value = value
        self.headers = headers
    }
}

public struct KafkaHeader: Sendable, Hashable {
    public let name: String
    public let value: [UInt8]?

    public init(name: String, value: [UInt8]?) {
        self.name = name
        self.value = value
    }
}
