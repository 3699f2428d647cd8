import CRDKafka
import Dispatch
import Foundation

/// A member of a consumer group, or a reader of partitions that the caller names.
///
/// One thread owns the consumer: the thread that creates it makes every call. Keep that thread off Swift's cooperative
/// pool, because `poll`, `close` and the synchronous calls block. `group.id` is required even if `assign` sets the
/// partitions.
public final class KafkaConsumer {
    public enum Polled: Sendable {
        case record(ConsumerRecord)
        /// The present end of a partition; only with `enable.partition.eof=true`. `next` is the offset after the last
        /// entry. An entry need not be a record: it may be a transaction's marker.
        case partitionEnd(TopicPartition, next: Int64)
        /// An error of the consumer or of a partition. If `isFatal` is true, the consumer cannot go on.
        case trouble(KafkaError)
    }

    /// Nil after `close` or `abandon`.
    private var openHandle: ClientHandle?
    let context: ClientContext
    private var topicNames = TopicNames()

    /// Creates the client. librdkafka's threads and the polling thread call `log`, which must not block.
    public init(properties: KafkaProperties, log: @escaping @Sendable (KafkaLogLine) -> Void) throws(KafkaError) {
        let context = ClientContext(log: log)
        let handle = try ClientHandle(RD_KAFKA_CONSUMER, properties: properties, context: context) { configuration in
            Self.setCallbacks(configuration)
        }
        // Makes `poll` return the main queue's events too.
        let redirected = rd_kafka_poll_set_consumer(handle.pointer)
        guard redirected == RD_KAFKA_RESP_ERR_NO_ERROR else {
            handle.destroy()
            let isGroupless = redirected == RD_KAFKA_RESP_ERR__UNKNOWN_GROUP
            throw KafkaError(redirected, message: isGroupless ? "group.id is required" : nil)
        }
        self.context = context
        openHandle = handle
    }

    /// If `close` was not called, ends as after a crash, without leaving the group. No handler runs, and the group
    /// keeps the partitions assigned until the session times out.
    deinit { abandon() }

    func handle() throws(KafkaError) -> ClientHandle {
        guard let openHandle else { throw .closed }
        return openHandle
    }

    /// Subscribes to the topics; the next polls join the group. The consumer retains the handlers until it is closed,
    /// so a handler should capture the consumer `unowned`.
    public func subscribe(_ topics: [String], rebalance: Rebalance) throws(KafkaError) {
        let client = try handle().pointer
        context.rebalance = rebalance
        // Partition -1 (RD_KAFKA_PARTITION_UA) lets the group assign the partitions.
        let list = PartitionList(topics.map { TopicPartition(topic: $0, partition: -1) })
        try KafkaError.check(rd_kafka_subscribe(client, list.pointer))
    }

    /// A start for `assign` instead of an offset: the last record (RD_KAFKA_OFFSET_TAIL of 1).
    public static let lastRecord: Int64 = -2001

    /// Reads the partitions from these offsets, without joining the group. -2 is the log's beginning, -1 its end.
    public func assign(_ partitions: [TopicPartition: Int64]) throws(KafkaError) {
        let client = try handle().pointer
        context.resumeLeaving(nil, client: client)
        let list = PartitionList(partitions)
        try KafkaError.check(rd_kafka_assign(client, list.pointer))
    }

    /// Returns the next record or event; nil if there was none within the time, or if the consumer is closed. Calls the
    /// rebalance handlers and `onCommit`. Call it at least every `max.poll.interval.ms`, also while all partitions are
    /// paused.
    public func poll(timeoutMilliseconds: Int32) -> Polled? {
        guard let handle = openHandle, let message = rd_kafka_consumer_poll(handle.pointer, timeoutMilliseconds) else {
            return nil
        }
        defer { rd_kafka_message_destroy(message) }
        let code = message.pointee.err
        // Every record and partition end has a topic. An error of the whole consumer has no topic.
        let topic = message.pointee.rkt.flatMap { rd_kafka_topic_name($0) }.map { topicNames.name($0) }
        switch (code, topic) {
        case (RD_KAFKA_RESP_ERR_NO_ERROR, let topic?):
            return .record(ConsumerRecord(message, topic: topic))
        case (RD_KAFKA_RESP_ERR__PARTITION_EOF, let topic?):
            return .partitionEnd(
                TopicPartition(topic: topic, partition: message.pointee.partition), next: message.pointee.offset)
        default:
            let text = rd_kafka_message_errstr(message).map { String(cString: $0) }
            let place = topic.map { topic in
                KafkaError.Place(
                    topicPartition: TopicPartition(topic: topic, partition: message.pointee.partition),
                    offset: message.pointee.offset)
            }
            return .trouble(handle.error(code, message: text, place: place))
        }
    }

    /// Stops fetching from the partitions. librdkafka drops their prefetched records, and fetches them again after
    /// `resume`. Throws for a partition that is not assigned. A newly assigned partition is never paused.
    ///
    /// Pause a partition only after it returned a record or its end. librdkafka numbers its commands before it queues
    /// them. If a pause enters the queue before the command to start fetching, librdkafka takes the start for outdated,
    /// and the partition never fetches (seen with 2.0.2).
    public func pause(_ partitions: [TopicPartition]) throws(KafkaError) {
        let client = try handle().pointer
        let list = PartitionList(partitions)
        // Recorded even if the call throws, because librdkafka may have paused some of the partitions.
        context.notePaused(partitions)
        try KafkaError.check(rd_kafka_pause_partitions(client, list.pointer))
        try list.check()
    }

    /// Continues to read the partition at `offset`, and drops its prefetched records. The partition must be fetching
    /// already: see `pause`. Blocks until librdkafka has done so, or for the time-out.
    public func seek(_ partition: TopicPartition, to offset: Int64, timeoutMilliseconds: Int32) throws(KafkaError) {
        let client = try handle().pointer
        let list = PartitionList([partition: offset])
        try KafkaError.check(rd_kafka_seek_partitions(client, list.pointer, timeoutMilliseconds))
        try list.check()
    }

    public func resume(_ partitions: [TopicPartition]) throws(KafkaError) {
        let client = try handle().pointer
        let list = PartitionList(partitions)
        try KafkaError.check(rd_kafka_resume_partitions(client, list.pointer))
        context.noteResumed(partitions)
        try list.check()
    }

    var contact: BrokerContact { context.contact }

    /// The id that the group's coordinator gave this member; nil before the consumer joined.
    public var memberID: String? {
        guard let handle = openHandle, let id = rd_kafka_memberid(handle.pointer) else { return nil }
        defer { rd_kafka_mem_free(handle.pointer, id) }
        return id.pointee == 0 ? nil : String(cString: id)
    }

    public var fatalError: KafkaError? { openHandle?.fatalError }

    /// Returns the metadata of the whole cluster. Blocks.
    public func metadata(timeoutMilliseconds: Int32) throws(KafkaError) -> KafkaClusterMetadata {
        try handle().metadata(topic: nil, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Returns the metadata of one topic. Throws if the topic does not exist. Blocks.
    public func metadata(topic: String, timeoutMilliseconds: Int32) throws(KafkaError) -> KafkaClusterMetadata {
        try handle().metadata(topic: topic, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Calls the revoke handler, leaves the group and destroys the client. Blocks for the handler and for the network.
    /// A handler must not call this. After this call, other calls throw, and `poll` returns nil.
    public func close() {
        guard let handle = openHandle else { return }
        let code = rd_kafka_consumer_close(handle.pointer)
        if code != RD_KAFKA_RESP_ERR_NO_ERROR { context.log(KafkaLogLine(event: KafkaError(code))) }
        abandon()
    }

    /// Destroys the client as a crash would: calls no handler, does not leave the group, and commits nothing.
    public func abandon() { release()?.destroy(flags: RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE) }

    /// Leaves the group and destroys the client, but calls no handler and waits for at most `seconds`. While the
    /// group's coordinator is away, librdkafka waits for the coordinator as long as a session or longer. After
    /// `seconds` the close goes on in the background, and the process may exit.
    public func close(withinSeconds seconds: Double) {
        guard let handle = release() else { return }
        let closed = DispatchSemaphore(value: 0)
        let log = context.log
        Thread.detachNewThread {
            let code = rd_kafka_consumer_close(handle.pointer)
            if code != RD_KAFKA_RESP_ERR_NO_ERROR { log(KafkaLogLine(event: KafkaError(code))) }
            handle.destroy(flags: RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
            closed.signal()
        }
        _ = closed.wait(timeout: .now() + seconds)
    }

    private func release() -> ClientHandle? {
        defer { openHandle = nil }
        guard openHandle != nil else { return nil }
        context.rebalance = nil
        context.onCommit = nil
        return openHandle
    }
}
