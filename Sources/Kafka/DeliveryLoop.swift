import CRDKafka
import Foundation
import Synchronization

/// The producer's thread. It passes each delivery report to its record's closure, and the client's errors to the log.
///
/// The loop receives reports as events, not through `dr_msg_cb`. One event has many reports. `rd_kafka_flush` would
/// call `dr_msg_cb` on the flushing thread, but leaves events to this loop's thread. `@unchecked Sendable` is sound:
/// librdkafka's queues are thread-safe, and all other members are immutable or synchronized.
final class DeliveryLoop: @unchecked Sendable {
    /// The longest time that the thread sleeps without an event.
    private static let idleMilliseconds: Int32 = 500

    private let handle: ClientHandle
    private let queue: OpaquePointer
    private let log: @Sendable (KafkaLogLine) -> Void
    private let progress: @Sendable () -> Void
    private let isStopping = Atomic(false)
    private let running = DispatchGroup()

    /// Starts the thread. Call `stop` before the handle is destroyed.
    init(
        _ handle: ClientHandle, log: @escaping @Sendable (KafkaLogLine) -> Void,
        progress: @escaping @Sendable () -> Void
    ) {
        self.handle = handle
        self.log = log
        self.progress = progress
        queue = rd_kafka_queue_get_main(handle.pointer)
        running.enter()
        let thread = Thread { [self] in run() }
        thread.name = "kafka-producer"
        thread.start()
    }

    /// Ends the thread, and returns when the thread makes no more calls. A delivery closure must not call this.
    func stop() {
        isStopping.store(true, ordering: .releasing)
        rd_kafka_queue_yield(queue)
        running.wait()
    }

    private func run() {
        while !isStopping.load(ordering: .acquiring) {
            if let event = rd_kafka_queue_poll(queue, Self.idleMilliseconds) { serve(event) }
            progress()
        }
        while let event = rd_kafka_queue_poll(queue, 0) { serve(event) }
        rd_kafka_queue_destroy(queue)
        running.leave()
    }

    private func serve(_ event: OpaquePointer) {
        defer { rd_kafka_event_destroy(event) }
        switch rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_DR:
            while let message = rd_kafka_event_message_next(event) { report(message.pointee) }
        case RD_KAFKA_EVENT_ERROR:
            let text = rd_kafka_event_error_string(event).map { String(cString: $0) }
            log(KafkaLogLine(event: handle.error(rd_kafka_event_error(event), message: text)))
        default:
            break
        }
    }

    private func report(_ message: rd_kafka_message_t) {
        guard let opaque = message._private else { return }
        let ticket = DeliveryTicket.redeem(opaque)
        if message.err == RD_KAFKA_RESP_ERR_NO_ERROR {
            let partition = TopicPartition(topic: ticket.topic, partition: message.partition)
            ticket.onDelivery(.success(Delivery(topicPartition: partition, offset: message.offset)))
        } else {
            ticket.onDelivery(.failure(handle.error(message.err, message: nil)))
        }
    }
}

/// The object behind the opaque pointer of a record in flight, with the closure for the record's delivery report.
final class DeliveryTicket: Sendable {
    let topic: String
    let onDelivery: @Sendable (Result<Delivery, KafkaError>) -> Void

    init(topic: String, onDelivery: @escaping @Sendable (Result<Delivery, KafkaError>) -> Void) {
        self.topic = topic
        self.onDelivery = onDelivery
    }

    /// Retains the ticket until `redeem`. The record's only delivery report calls `redeem`. If `produce` fails,
    /// `produce` calls `redeem`.
    func issue() -> UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    /// Returns the ticket and releases it. Call it exactly once for each `issue`. This is sound, because librdkafka
    /// reports each accepted record exactly once, and never reports a refused record.
    @discardableResult
    static func redeem(_ opaque: UnsafeMutableRawPointer) -> DeliveryTicket {
        Unmanaged<DeliveryTicket>.fromOpaque(opaque).takeRetainedValue()
    }
}
