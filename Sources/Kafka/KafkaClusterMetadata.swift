import CRDKafka

public struct KafkaClusterMetadata: Sendable, Hashable {
    /// `host:port` as the brokers advertise themselves, by broker id.
    public let brokers: [String]
    /// The partitions of each topic, ascending. A topic the cluster answered an error for is left out.
    public let topics: [String: [Int32]]

    public init(brokers: [String], topics: [String: [Int32]]) {
        self.brokers = brokers
        self.topics = topics
    }
}

extension KafkaClusterMetadata {
    init(_ metadata: rd_kafka_metadata_t) {
        brokers = UnsafeBufferPointer(start: metadata.brokers, count: Int(metadata.broker_cnt))
            .sorted { $0.id < $1.id }
            .map { "\(String(cString: $0.host)):\($0.port)" }
        let healthy = UnsafeBufferPointer(start: metadata.topics, count: Int(metadata.topic_cnt))
            .filter { $0.err == RD_KAFKA_RESP_ERR_NO_ERROR }
        topics = Dictionary(
            healthy.map { topic in
                let partitions = UnsafeBufferPointer(start: topic.partitions, count: Int(topic.partition_cnt))
                return (String(cString: topic.topic), partitions.map(\.id).sorted())
            },
            uniquingKeysWith: { first, _ in first }
        )
    }
}

extension ClientHandle {
    /// Of the whole cluster, or of one topic, which throws when the cluster answers an error for it.
    func metadata(topic: String?, timeoutMilliseconds: Int32) throws(KafkaError) -> KafkaClusterMetadata {
        var handle: OpaquePointer?
        if let topic {
            handle = rd_kafka_topic_new(pointer, topic, nil)
            guard handle != nil else { throw KafkaError(rd_kafka_last_error()) }
        }
        defer { if let handle { rd_kafka_topic_destroy(handle) } }

        var answer: UnsafePointer<rd_kafka_metadata>?
        try KafkaError.check(rd_kafka_metadata(pointer, topic == nil ? 1 : 0, handle, &answer, timeoutMilliseconds))
        guard let answer else { throw KafkaError(RD_KAFKA_RESP_ERR__FAIL) }
        defer { rd_kafka_metadata_destroy(answer) }
        if topic != nil {
            for answered in UnsafeBufferPointer(start: answer.pointee.topics, count: Int(answer.pointee.topic_cnt)) {
                try KafkaError.check(answered.err)
            }
        }
        return KafkaClusterMetadata(answer.pointee)
    }
}
