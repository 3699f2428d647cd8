import Fulfillment
import Kafka
import Logging
import Operations
import Synchronization

/// Publishes events and dead letters, and returns when the broker has acknowledged them.
///
/// An event is tried until it is acknowledged or the publisher closes; it is never dropped while anyone waits for it.
public final class OutcomePublisher: Sendable {
    private let properties: KafkaProperties
    private let outcomesTopic: String
    private let deadLettersTopic: String
    private let logger: Logger
    private let producer: Mutex<KafkaProducer>
    private let isClosed = Atomic(false)

    public init(settings: PipelineSettings, logger: Logger) throws(KafkaError) {
        properties = settings.producerProperties
        outcomesTopic = settings.outcomesTopic
        deadLettersTopic = settings.deadLettersTopic
        self.logger = logger
        producer = Mutex(try KafkaProducer(properties: properties, log: KafkaLog.forward(to: logger)))
    }

    /// Publishes in order. All are under way at once: one producer keeps the order of one key.
    func publish(_ events: [OutcomeEvent], traceparent: String?) async throws(Abandoned) {
        if events.count == 1 { return try await publish(events[0], traceparent: traceparent) }
        var remaining = events
        while !remaining.isEmpty {
            let failed = await sendAll(remaining, traceparent: traceparent)
            guard let first = failed else { return }
            // From the first failure on, again in order: a consumer sees duplicates, never one overtaking another.
            remaining.removeFirst(first)
            try await pauseAfterFailure()
        }
    }

    func publish(_ event: OutcomeEvent, traceparent: String?) async throws(Abandoned) {
        let record = record(for: event, traceparent: traceparent)
        while true {
            do {
                _ = try await current.send(record)
                return
            } catch {
                report(error, topic: outcomesTopic)
                try await pauseAfterFailure()
            }
        }
    }

    /// Sends the record to the dead-letter topic as it came, or an excerpt where the topic does not take it.
    func publish(_ letter: DeadLetter, of record: ConsumerRecord, position: RecordPosition) async throws(Abandoned) {
        var outgoing = DeadLetterRecord.make(letter, of: record, position: position, topic: deadLettersTopic)
        while true {
            do {
                _ = try await current.send(outgoing)
                return
            } catch where error.isMessageTooLarge {
                outgoing = DeadLetterRecord.excerpt(letter, of: record, position: position, topic: deadLettersTopic)
            } catch {
                report(error, topic: deadLettersTopic)
            }
            try await pauseAfterFailure()
        }
    }

    /// Blocking: delivers what is under way, then ends the producer's thread.
    public func close() {
        isClosed.store(true, ordering: .sequentiallyConsistent)
        current.close()
    }

    private var current: KafkaProducer {
        // An idempotent producer that lost its sequence is dead for good: a new one takes its place.
        producer.withLock { producer in
            guard producer.fatalError != nil, !isClosed.load(ordering: .sequentiallyConsistent) else { return producer }
            if let fresh = try? KafkaProducer(properties: properties, log: KafkaLog.forward(to: logger)) {
                let dead = producer
                producer = fresh
                // Ending it joins its thread: never on the cooperative pool.
                BlockingWork.run { dead.close() }
            }
            return producer
        }
    }

    /// The index of the first that failed, nil where all are acknowledged.
    private func sendAll(_ events: [OutcomeEvent], traceparent: String?) async -> Int? {
        let producer = current
        return await withTaskGroup(of: Int?.self) { group in
            let batch = DeliveryCount(expected: events.count)
            group.addTask { await batch.firstFailure() }
            for (index, event) in events.enumerated() {
                do {
                    try producer.produce(record(for: event, traceparent: traceparent)) { result in
                        if case .failure = result { batch.ended(index, failed: true) } else { batch.ended(index, failed: false) }
                    }
                } catch {
                    for left in index..<events.count { batch.ended(left, failed: true) }
                    break
                }
            }
            for await failure in group { return failure }
            return nil
        }
    }

    private func record(for event: OutcomeEvent, traceparent: String?) -> ProducerRecord {
        ProducerRecord(
            topic: outcomesTopic, partition: nil, key: Array(event.playerID.text.utf8), value: event.value,
            headers: event.headers(traceparent: traceparent).map { KafkaHeader(name: $0.name, value: Array($0.value.utf8)) },
            timestampMilliseconds: nil)
    }

    private func report(_ error: KafkaError, topic: String) {
        if isClosed.load(ordering: .sequentiallyConsistent) { return }
        logger.warning("publishing failed, trying again", [.topic: "\(topic)", .error: "\(error.name)"])
    }

    private func pauseAfterFailure() async throws(Abandoned) {
        if isClosed.load(ordering: .sequentiallyConsistent) { throw Abandoned() }
        // Not cancellable on purpose: the outcome may be durable already, and its event is owed.
        await BlockingWork.pause(seconds: 0.2)
        if isClosed.load(ordering: .sequentiallyConsistent) { throw Abandoned() }
    }
}
