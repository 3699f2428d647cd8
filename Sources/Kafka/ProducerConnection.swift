import CRDKafka
import Dispatch
import Synchronization

/// A producer's client and thread, which end together.
final class ProducerConnection: Sendable {
    /// The time in which librdkafka must report purged records. It reports them from memory, so a longer time is a bug
    /// in librdkafka.
    private static let purgeMilliseconds: Int32 = 10_000

    let shared: SharedHandle
    private let loop: DeliveryLoop
    private let closing = DispatchGroup()
    private let closedFlag = Atomic(false)

    init(
        properties: KafkaProperties, topics: [String], log: @escaping @Sendable (KafkaLogLine) -> Void,
        progress: @escaping @Sendable () -> Void
    ) throws(KafkaError) {
        let context = ClientContext(log: log)
        let handle = try ClientHandle(RD_KAFKA_PRODUCER, properties: properties, context: context) { configuration in
            // Without this, librdkafka would report only failed records, and a delivered record's closure would never
            // run.
            rd_kafka_conf_set(configuration, "delivery.report.only.error", "false", nil, 0)
            rd_kafka_conf_set_events(configuration, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR)
        }
        for topic in topics { handle.learn(topic) }
        shared = SharedHandle(handle)
        // `context.log` also records whether brokers answer; `log` does not.
        loop = DeliveryLoop(handle, log: context.log, progress: progress)
        closing.enter()
    }

    var isClosed: Bool { closedFlag.load(ordering: .acquiring) }

    func close(flushMilliseconds: Int32) {
        guard let handle = shared.retire() else { return closing.wait() }
        if rd_kafka_flush(handle.pointer, flushMilliseconds) != RD_KAFKA_RESP_ERR_NO_ERROR {
            rd_kafka_purge(handle.pointer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
            rd_kafka_flush(handle.pointer, Self.purgeMilliseconds)
        }
        loop.stop()
        handle.destroy()
        closedFlag.store(true, ordering: .releasing)
        closing.leave()
    }
}
