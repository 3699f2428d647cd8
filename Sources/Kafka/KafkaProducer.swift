import CRDKafka
import Dispatch
import Foundation

/// Sends records, from any thread.
///
/// `Sendable` needs no `@unchecked`: all members are immutable and Sendable.
public final class KafkaProducer: Sendable {
    private let connection: ProducerConnection

    /// - Parameters:
    ///   - topics: the topics of its records. The first record of another topic waits for up to a second, while the
    ///     producer learns the topic's partitions.
    ///   - log: called on librdkafka's threads and on the producer's thread. It must not block.
    ///   - progress: called on the producer's thread after each turn, at least twice a second, even while nothing
    ///     happens or the brokers are away. It must not block.
    public init(
        properties: KafkaProperties, topics: [String] = [], log: @escaping @Sendable (KafkaLogLine) -> Void,
        progress: @escaping @Sendable () -> Void = {}
    ) throws(KafkaError) {
        connection = try ProducerConnection(properties: properties, topics: topics, log: log, progress: progress)
    }

    /// Without `close` another thread closes, because this thread may be of the cooperative pool, or the producer's
    /// own.
    deinit {
        guard !connection.isClosed else { return }
        Thread.detachNewThread { [connection] in connection.close(flushMilliseconds: 0) }
    }

    /// Enqueues. `onDelivery` is called exactly once, on the producer's thread, and must not block or close the
    /// producer. Throws on a full queue, on a record too large, and once closed; then `onDelivery` is not called.
    public func produce(
        _ record: ProducerRecord,
        onDelivery: @escaping @Sendable (Result<Delivery, KafkaError>) -> Void
    ) throws(KafkaError) {
        try connection.shared.use { handle throws(KafkaError) in
            try handle.produce(record, ticket: DeliveryTicket(topic: record.topic, onDelivery: onDelivery))
        }
    }

    /// The time that `send` waits for room in a full queue.
    static let queueFullPatience: Duration = .seconds(30)
    private static let queueFullPause: Duration = .milliseconds(5)

    /// Enqueues and waits for the delivery. On a full queue it waits, without holding a thread, and tries again, for
    /// `queueFullPatience` or until the task is cancelled; then it throws `_QUEUE_FULL`. Cancellation does not take an
    /// enqueued record back: its delivery is awaited, for at most `message.timeout.ms`.
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
            // Only a refusal has this code: an accepted record is never reported with it.
            guard case .failure(let refusal) = outcome, refusal.code == KafkaError.Code.queueFull,
                ContinuousClock.now < deadline
            else { return try outcome.get() }
            do { try await Task.sleep(for: Self.queueFullPause) } catch { throw refusal }
        }
    }

    private typealias DeliveryResult = Result<Delivery, KafkaError>

    /// Sends records that wait for `linger.ms` at once, and waits until every report has been delivered. Returns false
    /// if the time was not enough, or if the producer is closed. Blocks.
    public func flush(timeoutMilliseconds: Int32) -> Bool {
        let code = try? connection.shared.use { handle in rd_kafka_flush(handle.pointer, timeoutMilliseconds) }
        return code == RD_KAFKA_RESP_ERR_NO_ERROR
    }

    /// The number of records that are enqueued and not reported yet.
    public var outstandingCount: Int {
        (try? connection.shared.use { handle in Int(rd_kafka_outq_len(handle.pointer)) }) ?? 0
    }

    /// Returns the metadata of the whole cluster. Blocks.
    public func metadata(timeoutMilliseconds: Int32) throws(KafkaError) -> KafkaClusterMetadata {
        try connection.shared.use { handle throws(KafkaError) in
            try handle.metadata(topic: nil, timeoutMilliseconds: timeoutMilliseconds)
        }
    }

    /// Returns the metadata of one topic; throws if there is none, which a broker with `auto.create.topics.enable`
    /// answers by creating it. Blocks.
    public func metadata(topic: String, timeoutMilliseconds: Int32) throws(KafkaError) -> KafkaClusterMetadata {
        try connection.shared.use { handle throws(KafkaError) in
            try handle.metadata(topic: topic, timeoutMilliseconds: timeoutMilliseconds)
        }
    }

    /// The error after which an idempotent producer cannot go on; nil if there is none.
    public var fatalError: KafkaError? {
        (try? connection.shared.use { handle in handle.fatalError }) ?? nil
    }

    /// Flushes for the given time, then gives the remaining records up. They are reported with `_PURGE_QUEUE` (surely
    /// not sent) or `_PURGE_INFLIGHT` (may be in the log). Blocks until every report has been delivered and
    /// librdkafka's threads have ended: keep it off the cooperative pool. A second call waits for the first.
    public func close(flushMilliseconds: Int32 = 2_000) { connection.close(flushMilliseconds: flushMilliseconds) }
}
