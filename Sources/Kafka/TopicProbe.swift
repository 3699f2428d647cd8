import CRDKafka
import Foundation
import Synchronization

/// Requests one topic's metadata, with a client of its own that joins no group. The client is a consumer, whose request
/// creates no topic even if brokers create topics on demand.
public final class TopicProbe: Sendable {
    private let properties: KafkaProperties
    private let log: @Sendable (KafkaLogLine) -> Void
    private let client = Mutex<SharedHandle?>(nil)

    /// - Parameter properties: a consumer's properties. Its `group.id` and `group.instance.id` have no effect.
    public init(properties: KafkaProperties, log: @escaping @Sendable (KafkaLogLine) -> Void) {
        var properties = properties
        properties["group.id"] = nil
        properties["group.instance.id"] = nil
        properties["allow.auto.create.topics"] = "false"
        self.properties = properties
        self.log = log
    }

    /// If `close` was not called, closes on another thread: closing blocks, and this thread may be of the cooperative
    /// pool.
    deinit {
        guard let client = client.withLock({ $0.take() }) else { return }
        Thread.detachNewThread { client.retire()?.destroy() }
    }

    /// Destroys the client; blocks until librdkafka's threads have ended. A later `metadata` call creates a new client.
    public func close() { client.withLock { $0.take() }?.retire()?.destroy() }

    /// Returns the topic's metadata. Blocks. Throws the broker's error for the topic, or the reason why no broker
    /// answered.
    public func metadata(of topic: String, timeoutMilliseconds: Int32) throws(KafkaError) -> KafkaClusterMetadata {
        try shared().use { handle throws(KafkaError) in
            // Drops librdkafka's events about lost brokers, which nothing else reads.
            rd_kafka_poll(handle.pointer, 0)
            return try handle.metadata(topic: topic, timeoutMilliseconds: timeoutMilliseconds)
        }
    }

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
