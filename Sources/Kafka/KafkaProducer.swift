import CRDKafka
import Dispatch
import Foundation

/// Sends records, from any thread.
public final class KafkaProducer: Sendable {
    private let connection: ProducerConnection

    /// - Parameters:
    ///   - topics: the topics of the producer's records. The first record of an unlisted topic waits for up to a
    ///     second, while the producer learns the topic's partitions.
    ///   - log: runs on librdkafka's threads and on the producer's thread. It must not block.
    ///   - progress: runs on the producer's thread after each event, and at least twice a second, even if the brokers
    ///     are away. It must not block.
    public init(
        properties: KafkaProperties, topics: [String] = [], log: @escaping @Sendable (KafkaLogLine) -> Void,
        progress: @escaping @Sendable () -> Void = {}
    ) throws(KafkaError) {
        connection = try ProducerConnection(properties: properties, topics: topics, log: log, progress: progress)
    }

    /// If `close` was not called, closes on another thread: closing blocks, and this thread may be the producer's own,
    /// or one of the cooperative pool.
    deinit {
        guard !connection.isClosed else { return }
        Thread.detachNewThread { [connection] in connection.close(flushMilliseconds: 0) }
    }

    /// Enqueues the record. The producer's thread calls `onDelivery` exactly once; `onDelivery` must not block or close
    /// the producer. Throws if the queue is full, the record is too large, or the producer is closed. If this call
    /// throws, `onDelivery` is not called.
    public func produce(
        _ record: ProducerRecord,
        onDelivery: @escaping @Sendable (Result<Delivery, KafkaError>) -> Void
    ) throws(KafkaError) {
        try connection.shared.use { handle throws(KafkaError) in
            try handle.produce(record, ticket: DeliveryTicket(topic: record.topic, onDelivery: onDelivery))
        }
    }

    /// The longest time that `send` waits for space in a full queue.
    static let queueFullPatience: Duration = .seconds(30)
    private static let queueFullPause: Duration = .milliseconds(5)

    /// Enqueues the record and waits for its delivery. While the queue is full, `send` tries again, without blocking a
    /// thread. After `queueFullPatience`, or when the task is cancelled, it throws `_QUEUE_FULL`. Cancellation does not
    /// remove an enqueued record: `send` still waits for its delivery, for at most `message.timeout.ms`.
    public func send(_ record: ProducerRecord) async throws(KafkaError) -> Delivery {
        let deadline = ContinuousClock.now + Self.queueFullPatience
        while true {
            let outcome = await withUnsafeContinuation { (waiting: UnsafeContinuation<DeliveryResult, Never>) in
                do throws(KafkaError) {
                    try produce(record) { waiting.resume(returning: $0) }
                } catch {
                    waiting.resume(returning: .failure(error))
                }
            }
            // librdkafka gives this code to a refused record only, never to an accepted one.
            guard case .failure(let refusal) = outcome, refusal.code == KafkaError.Code.queueFull,
                ContinuousClock.now < deadline
            else { return try outcome.get() }
            do { try await Task.sleep(for: Self.queueFullPause) } catch { throw refusal }
        }
    }

    private typealias DeliveryResult = Result<Delivery, KafkaError>

    /// Sends at once the records that wait for `linger.ms`, and waits for the reports of all records. Returns false if
    /// a report is missing after the time-out, or if the producer is closed. Blocks.
    public func flush(timeoutMilliseconds: Int32) -> Bool {
        let code = try? connection.shared.use { handle in rd_kafka_flush(handle.pointer, timeoutMilliseconds) }
        return code == RD_KAFKA_RESP_ERR_NO_ERROR
    }

    /// The number of enqueued records without a delivery report.
    public var outstandingCount: Int {
        (try? connection.shared.use { handle in Int(rd_kafka_outq_len(handle.pointer)) }) ?? 0
    }

    /// Returns the metadata of the whole cluster. Blocks.
    public func metadata(timeoutMilliseconds: Int32) throws(KafkaError) -> KafkaClusterMetadata {
        try connection.shared.use { handle throws(KafkaError) in
            try handle.metadata(topic: nil, timeoutMilliseconds: timeoutMilliseconds)
        }
    }

    /// Returns the metadata of one topic. Throws if the topic does not exist. A broker with `auto.create.topics.enable`
    /// then creates the topic. Blocks.
    public func metadata(topic: String, timeoutMilliseconds: Int32) throws(KafkaError) -> KafkaClusterMetadata {
        try connection.shared.use { handle throws(KafkaError) in
            try handle.metadata(topic: topic, timeoutMilliseconds: timeoutMilliseconds)
        }
    }

    /// The error after which an idempotent producer cannot go on; nil if there is none.
    public var fatalError: KafkaError? {
        (try? connection.shared.use { handle in handle.fatalError }) ?? nil
    }

    /// Flushes for the given time, then drops the remaining records. Their reports have `_PURGE_QUEUE` (not sent) or
    /// `_PURGE_INFLIGHT` (may be in the log). Blocks until every report is delivered and librdkafka's threads have
    /// ended: do not call it on the cooperative pool. A second call waits for the first to end.
    public func close(flushMilliseconds: Int32 = 2_000) { connection.close(flushMilliseconds: flushMilliseconds) }
}
