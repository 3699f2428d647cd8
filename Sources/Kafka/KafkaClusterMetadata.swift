import CRDKafka

public struct KafkaClusterMetadata: Sendable, Hashable {
    /// The brokers' advertised addresses as `host:port`, sorted by broker id.
    public let brokers: [String]
    /// The partitions of each topic, ascending. A topic for which the cluster answered an error has no entry.
    public let topics: [String: [Int32]]
    /// The partitions that have no leader now, ascending: no client can read or write them. A topic whose partitions
    /// all have a leader has no entry.
    public let leaderless: [String: [Int32]]

    public init(brokers: [String], topics: [String: [Int32]], leaderless: [String: [Int32]] = [:]) {
        self.brokers = brokers
        self.topics = topics
        self.leaderless = leaderless
    }
}

extension KafkaClusterMetadata {
    init(_ metadata: rd_kafka_metadata_t) {
        brokers = UnsafeBufferPointer(start: metadata.brokers, count: Int(metadata.broker_cnt))
            .sorted { $0.id < $1.id }
            .map { "\(String(cString: $0.host)):\($0.port)" }
        let healthy = UnsafeBufferPointer(start: metadata.topics, count: Int(metadata.topic_cnt))
            .filter { $0.err == RD_KAFKA_RESP_ERR_NO_ERROR }
        var topics: [String: [Int32]] = [:]
        var leaderless: [String: [Int32]] = [:]
        for topic in healthy {
            let name = String(cString: topic.topic)
            let partitions = UnsafeBufferPointer(start: topic.partitions, count: Int(topic.partition_cnt))
            topics[name] = partitions.map(\.id).sorted()
            let ownerless = partitions.filter { $0.leader < 0 }.map(\.id).sorted()
            if !ownerless.isEmpty { leaderless[name] = ownerless }
        }
        self.topics = topics
        self.leaderless = leaderless
    }
}

extension ClientHandle {
    /// Returns the metadata of the whole cluster, or of `topic`. Throws if the cluster answers an error for `topic`.
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
