import CRDKafka

/// What librdkafka's callbacks find through the client's opaque pointer.
///
/// Not Sendable, and shared with librdkafka's threads: those read `log` only, which is immutable and Sendable. The rest
/// is the consumer's, which uses it on its one thread, and so do the callbacks it is for: librdkafka makes them from
/// within `rd_kafka_consumer_poll` and `rd_kafka_consumer_close`.
final class ClientContext {
    let log: @Sendable (KafkaLogLine) -> Void
    var rebalance: KafkaConsumer.Rebalance?
    var onCommit: ((Result<[TopicPartition: Int64], KafkaError>) -> Void)?

    init(log: @escaping @Sendable (KafkaLogLine) -> Void) { self.log = log }

    /// Sound while the client lives: `ClientHandle` holds a reference until `rd_kafka_destroy` has returned.
    static func of(_ opaque: UnsafeMutableRawPointer?) -> ClientContext? {
        opaque.map { Unmanaged<ClientContext>.fromOpaque($0).takeUnretainedValue() }
    }
}
