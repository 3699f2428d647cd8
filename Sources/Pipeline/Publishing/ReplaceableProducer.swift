import Kafka
import Logging
import Operations
import Synchronization

/// The producer of one topic, replaced by a new one once it can never go on. It beats for
/// `Health.Part.outcomePublisher` until it is closed.
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

    /// The beats of all its producers. A replaced producer ends by itself, perhaps after this.
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

    /// The present producer. Read it anew for each record.
    var current: KafkaProducer {
        // An idempotent producer that lost its sequence is dead for good: a new one takes its place.
        producer.withLock { producer in
            guard producer.fatalError != nil, !isClosed else { return producer }
            let fresh = try? Self.producer(properties, for: topic, pulse, logger, voice)
            if let fresh {
                let dead = producer
                producer = fresh
                // Ending it joins its thread: never on the cooperative pool.
                BlockingWork.run { dead.close() }
            }
            return producer
        }
    }

    /// Delivers what is under way, then ends the producer's thread. It blocks.
    func close() {
        closed.store(true, ordering: .sequentiallyConsistent)
        current.close()
        pulse.end()
    }
}
