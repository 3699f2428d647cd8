import CRDKafka
import Dispatch

extension KafkaConsumer {
    /// Receives the result of each asynchronous commit: the committed offsets, or an error. `poll` and `close` call it.
    public var onCommit: ((Result<[TopicPartition: Int64], KafkaError>) -> Void)? {
        get { context.onCommit }
        set { context.onCommit = newValue }
    }

    static func commitResult(
        _ code: rd_kafka_resp_err_t,
        _ offsets: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
    ) throws(KafkaError) -> [TopicPartition: Int64] {
        try KafkaError.check(code)
        for element in PartitionList.elements(offsets) { try KafkaError.check(element.err) }
        return PartitionList.offsets(offsets)
    }

    /// Returns the committed offsets. A partition without one has no entry. Blocks.
    public func committed(
        _ partitions: [TopicPartition],
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [TopicPartition: Int64] {
        try committedMarks(partitions, timeoutMilliseconds: timeoutMilliseconds).mapValues(\.offset)
    }

    /// Returns the first offset in the log, and the offset that the next record will get. Blocks.
    public func watermarks(
        _ partition: TopicPartition,
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> (low: Int64, high: Int64) {
        let found = try watermarks([partition], timeoutMilliseconds: timeoutMilliseconds)
        guard let marks = found[partition] else { throw KafkaError(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) }
        return marks
    }

    /// Returns the watermarks of several partitions. A partition for which no broker answers has no entry. Blocks for
    /// at most the time-out.
    ///
    /// `rd_kafka_query_watermark_offsets` may block longer: 2.0.2 waited for a broker that went away during the call.
    /// `rd_kafka_offsets_for_times` does not, and librdkafka's maintainer recommends it for watermarks (librdkafka
    /// issue 3737).
    public func watermarks(
        _ partitions: [TopicPartition],
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [TopicPartition: (low: Int64, high: Int64)] {
        let deadline = DispatchTime.now() + .milliseconds(Int(timeoutMilliseconds))
        let lows = try listOffsets(partitions, at: Int64(RD_KAFKA_OFFSET_BEGINNING), until: deadline)
        let highs = try listOffsets(partitions, at: Int64(RD_KAFKA_OFFSET_END), until: deadline)
        var marks: [TopicPartition: (low: Int64, high: Int64)] = [:]
        for (partition, low) in lows {
            if let high = highs[partition] { marks[partition] = (low, high) }
        }
        return marks
    }

    /// Returns the offsets of the partitions that have no error.
    /// - Parameter time: Unix milliseconds, or librdkafka's constant for the log's beginning or end. Kafka's
    ///   ListOffsets accepts both.
    private func listOffsets(
        _ partitions: [TopicPartition], at time: Int64, until deadline: DispatchTime
    ) throws(KafkaError) -> [TopicPartition: Int64] {
        let list = PartitionList(Dictionary(partitions.map { ($0, time) }, uniquingKeysWith: { first, _ in first }))
        let left = Int64(bitPattern: deadline.uptimeNanoseconds &- DispatchTime.now().uptimeNanoseconds) / 1_000_000
        try KafkaError.check(
            rd_kafka_offsets_for_times(try handle().pointer, list.pointer, Int32(clamping: max(1, left))))
        return list.soundOffsets
    }

    /// Returns the watermarks from this partition's last fetch, without a request; nil before the first fetch. `low` is
    /// -1 while librdkafka does not know the log's first offset. librdkafka learns this offset only if
    /// `statistics.interval.ms` is set.
    public func cachedWatermarks(_ partition: TopicPartition) -> (low: Int64, high: Int64)? {
        var low: Int64 = -1
        var high: Int64 = -1
        guard let handle = try? handle() else { return nil }
        let code = rd_kafka_get_watermark_offsets(
            handle.pointer, partition.topic, partition.partition, &low, &high)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, high >= 0 else { return nil }
        return (max(low, -1), high)
    }

    /// Returns each partition's first offset whose record has this time (Unix milliseconds) or a later time. A
    /// partition without such a record has no entry. Blocks.
    public func offsetsForTime(
        _ partitions: [TopicPartition],
        milliseconds: Int64,
        timeoutMilliseconds: Int32
    ) throws(KafkaError) -> [TopicPartition: Int64] {
        // A time below 0 has a special meaning in Kafka: -1 is the log's end. No record is older than 1970.
        let time = max(0, milliseconds)
        let times = Dictionary(partitions.map { ($0, time) }, uniquingKeysWith: { first, _ in first })
        let list = PartitionList(times)
        try KafkaError.check(rd_kafka_offsets_for_times(try handle().pointer, list.pointer, timeoutMilliseconds))
        try list.check()
        return list.offsets
    }
}
