import CRDKafka
import Foundation
import Synchronization

/// Asks a broker what it knows of one topic, by a client of its own that is in no group. It is a consumer's, whose question makes
/// no topic where brokers make those that they are asked for.
public final class TopicProbe: Sendable {
    private let properties: KafkaProperties
    private let log: @Sendable (KafkaLogLine) -> Void
    private let client = Mutex<SharedHandle?>(nil)

    /// - Parameter properties: a consumer's, of which those that concern a group count for nothing.
    public init(properties: KafkaProperties, log: @escaping @Sendable (KafkaLogLine) -> Void) {
        var properties = properties
        properties["group.id"] = nil
        properties["group.instance.id"] = nil
        properties["allow.auto.create.topics"] = "false"
        self.properties = properties
        self.log = log
    }

    /// Without `close`, another thread closes: this one may be of the cooperative pool.
    deinit {
        guard let client = client.withLock({ $0.take() }) else { return }
        Thread.detachNewThread { client.retire()?.destroy() }
    }

    /// Blocks while librdkafka's threads end. A later question makes a client anew.
    public func close() { client.withLock { $0.take() }?.retire()?.destroy() }

    /// Blocks. Throws what the broker answers of the topic, or why none answered.
    public func metadata(of topic: String, timeoutMilliseconds: Int32) throws(KafkaError) -> KafkaClusterMetadata {
        try shared().use { handle throws(KafkaError) in
            // Else what librdkafka tells of brokers that went would pile up.
            rd_kafka_poll(handle.pointer, 0)
            return try handle.metadata(topic: topic, timeoutMilliseconds: timeoutMilliseconds)
        }
    }

    /// The client is made at the first question, and again at the next where it could not be made.
    private func shared() throws(KafkaError) -> SharedHandle {
        let known = client.withLock { $0 }
        if let known { return known }
        let made = SharedHandle(
            try ClientHandle(
                RD_KAFKA_CONSUMER, properties: properties, context: ClientContext(log: log), configure: { _ in }))
        let (kept, spare) = client.withLock { client -> (SharedHandle, SharedHandle?) in
            if let client { return (client, made) }
            client = made
            return (made, nil)
        }
        spare?.retire()?.destroy()
        return kept
    }
}
