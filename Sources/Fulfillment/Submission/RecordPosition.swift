import NamesAndTimes

/// The place of a record in Kafka, and a digest of its content. A redelivery does not change a record's position.
public struct RecordPosition: Sendable, Hashable {
    public let topic: String
    public let partition: Int32
    public let offset: Int64
    /// The record's own time; the beginning of 1970 if Kafka gave none.
    public let timestamp: Timestamp
    /// SHA-256 of the value. If a topic was deleted and created again, the digest distinguishes the new record at an
    /// offset from the old record.
    public let content: Digest256

    public init(topic: String, partition: Int32, offset: Int64, timestamp: Timestamp, content: Digest256) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.content = content
    }
}
