import Kafka
import Logging
import Operations
import Synchronization

/// The producer for one topic. If a producer cannot go on, a new producer replaces it. The producers report to health
/// as `Health.Part.outcomePublisher` until this object is closed.
final class ReplaceableProducer: Sendable {
    private let properties: KafkaProperties
    private let topic: String
    private let pulse: Pulse
    private let voice: KafkaVoice
    private let logger: Logger
    private let producer: Mutex<KafkaProducer>
    private let closed = Atomic(false)

    init(
        properties: KafkaProperties, topic: String, health: Health, voice: KafkaVoice, logger: Logger
    ) throws(KafkaError) {
        self.properties = properties
        self.topic = topic
        self.voice = voice
        self.logger = logger
        pulse = Pulse(health)
        producer = Mutex(try Self.producer(properties, for: topic, pulse, logger, voice))
    }

    private static func producer(
        _ properties: KafkaProperties, for topic: String, _ pulse: Pulse, _ logger: Logger, _ voice: KafkaVoice
    ) throws(KafkaError) -> KafkaProducer {
        try KafkaProducer(
            properties: properties, topics: [topic], log: KafkaLog.forward(to: logger, folding: voice),
            progress: { pulse.beat() })
    }

    /// Reports to health for the present producer and for the replaced ones. A replaced producer's thread may still run
    /// after `close`, so `end` stops its reports.
    private final class Pulse: Sendable {
        private let health: Health
        private let isOver = Mutex(false)

        init(_ health: Health) { self.health = health }

        func beat() { isOver.withLock { if !$0 { health.beat(.outcomePublisher) } } }

        func end() {
            isOver.withLock { isOver in
                isOver = true
                health.retire(.outcomePublisher)
            }
        }
    }

    var isClosed: Bool { closed.load(ordering: .sequentiallyConsistent) }

    /// The producer. If it cannot go on, reading this property replaces it, so read the property again for each record.
    var current: KafkaProducer {
        // An idempotent producer that lost its sequence cannot recover.
        producer.withLock { producer in
            guard producer.fatalError != nil, !isClosed else { return producer }
            let fresh = try? Self.producer(properties, for: topic, pulse, logger, voice)
            if let fresh {
                let dead = producer
                producer = fresh
                // Closing a producer waits for its thread, which must not happen on the cooperative pool.
                BlockingWork.run { dead.close() }
            }
            return producer
        }
    }

    /// Delivers the records under way, then ends the producer's thread. Blocks.
    func close() {
        closed.store(true, ordering: .sequentiallyConsistent)
        current.close()
        pulse.end()
    }
}
