import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations
import Synchronization

/// Publishes events and dead letters, and returns when the broker has acknowledged them.
///
/// An event is tried until it is acknowledged or the publisher closes. It is never dropped while anyone waits for it,
/// even if the topic refuses it as too large: a grant is owed, and an operator can raise the topic's
/// `max.message.bytes`. No submission can cause that: the fields that an event repeats have limits. What it takes from
/// Apple and the catalog is bounded by `OutcomeEvent.maximumListedTransactions` and the catalog's limits.
public final class OutcomePublisher: Sendable {
    private let outcomesTopic: String
    private let deadLettersTopic: String
    let failures: Failures
    private let trouble: PublicationTrouble
    let voice: KafkaVoice
    private let logger: Logger
    private let producer: ReplaceableProducer
    /// Returns the time in monotonic seconds.
    private let now: @Sendable () -> Double
    private let said = Mutex(RepeatedWords())

    public convenience init(settings: PipelineSettings, health: Health, logger: Logger) throws(KafkaError) {
        try self.init(settings: settings, health: health, logger: logger, now: { WallClock.monotonicSeconds })
    }

    init(
        settings: PipelineSettings, health: Health, logger: Logger, now: @escaping @Sendable () -> Double
    ) throws(KafkaError) {
        self.now = now
        failures = health.failures
        trouble = PublicationTrouble(health)
        voice = settings.kafkaVoice
        outcomesTopic = settings.outcomesTopic
        deadLettersTopic = settings.deadLettersTopic
        self.logger = logger
        producer = try ReplaceableProducer(
            properties: settings.producerProperties, topic: outcomesTopic, health: health, voice: voice, logger: logger)
    }

    /// Publishes in order. All events are under way at once, because one producer keeps the order of one key.
    func publish(_ events: [OutcomeEvent], traceparent: String?) async throws(Abandoned) {
        if events.count == 1 { return try await publish(events[0], traceparent: traceparent) }
        try await publish(events.map { TracedEvent(event: $0, traceparent: traceparent) })
    }

    /// Publishes in the same way events that each have a trace of their own.
    func publish(_ events: [TracedEvent]) async throws(Abandoned) {
        var remaining = events.map { record(for: $0.event, traceparent: $0.traceparent) }[...]
        var backoff = PublishBackoff()
        var owed: PublicationTrouble.Owed?
        while true {
            let failures = await sendAll(remaining)
            guard let first = failures.keys.min(), let error = failures[first] else {
                return self.failures.recovered(.publisher)
            }
            owed = report(error, remaining[first], owed)
            // Sends again in order from the first failure on: a consumer sees duplicates, never one overtaking another.
            remaining = remaining[first...]
            try await pause(&backoff)
        }
    }

    func publish(_ event: OutcomeEvent, traceparent: String?) async throws(Abandoned) {
        let record = record(for: event, traceparent: traceparent)
        var backoff = PublishBackoff()
        var owed: PublicationTrouble.Owed?
        while true {
            do {
                _ = try await Suspected.waiting { () async throws(KafkaError) in try await producer.current.send(record)
                }
                return failures.recovered(.publisher)
            } catch {
                owed = report(error, record, owed)
                try await pause(&backoff)
            }
        }
    }

    /// Publishes events of the outbox in order. An event that the topic refuses as too large stays there, and does not
    /// hold up the others.
    /// - Returns: the ids of the acknowledged events.
    func publish(_ events: [UnpublishedEvent]) async throws(Abandoned) -> [NameBasedUUID] {
        let records = events.map { record(for: $0.event, traceparent: $0.traceparent) }
        var refused: Set<Int> = []
        var remaining = records[...]
        var backoff = PublishBackoff()
        var owed: PublicationTrouble.Owed?
        while true {
            let failures = await sendAll(remaining)
            for (index, error) in failures where error.isMessageTooLarge {
                say(error, records[index])
                refused.insert(index)
            }
            guard let first = failures.filter({ !$0.value.isMessageTooLarge }).keys.min() else {
                if refused.isEmpty { self.failures.recovered(.publisher) }
                break
            }
            if let error = failures[first] { owed = report(error, records[first], owed) }
            remaining = remaining[first...]
            try await pause(&backoff)
        }
        return events.indices.filter { !refused.contains($0) }.map { events[$0].event.eventID }
    }

    /// Sends the record to the dead-letter topic as it came, or an excerpt if the topic does not take it.
    /// - Parameter evenIfCancelled: true to go on when its task is cancelled. Otherwise it is given up then: the
    ///   record's offset is not committed, so that its next owner owes the letter.
    func publish(
        _ letter: DeadLetter, of record: ConsumerRecord, position: RecordPosition, evenIfCancelled: Bool = false
    ) async throws(Abandoned) {
        var outgoing = DeadLetterRecord.make(letter, of: record, position: position, topic: deadLettersTopic)
        var isExcerpt = false
        var backoff = PublishBackoff()
        var owed: PublicationTrouble.Owed?
        while true {
            if !evenIfCancelled, Task.isCancelled { throw Abandoned() }
            do {
                let letter = outgoing
                _ = try await Suspected.waiting { () async throws(KafkaError) in
                    try await producer.current.send(letter)
                }
                return failures.recovered(.publisher)
            } catch {
                if error.isMessageTooLarge, !isExcerpt {
                    isExcerpt = true
                    outgoing = DeadLetterRecord.excerpt(
                        letter, of: record, position: position, topic: deadLettersTopic)
                    continue
                }
                owed = report(error, outgoing, owed)
            }
            try await pause(&backoff)
        }
    }

    /// Blocks until a broker has answered.
    func askBroker(timeoutMilliseconds: Int32) throws(KafkaError) {
        _ = try producer.current.metadata(topic: outcomesTopic, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Delivers what is under way, then ends the producer's thread. It blocks.
    public func close() { producer.close() }

    /// Sends all records. The failures have the records' own indices.
    private func sendAll(_ records: ArraySlice<ProducerRecord>) async -> DeliveryCount.Failures {
        guard !records.isEmpty else { return [:] }
        let producer = producer.current
        let count = DeliveryCount(expected: records.count)
        for index in records.indices {
            do throws(KafkaError) {
                try producer.produce(records[index]) { result in
                    switch result {
                    case .success: count.ended(index)
                    case .failure(let error): count.ended(index, error)
                    }
                }
            } catch {
                count.ended(index, error)
                if error.isMessageTooLarge { continue }
                // Later records shall not overtake it.
                for left in index + 1..<records.endIndex { count.ended(left, error) }
                break
            }
        }
        return await Suspected.waiting { await count.failures() }
    }

    private func record(for event: OutcomeEvent, traceparent: String?) -> ProducerRecord {
        ProducerRecord(
            topic: outcomesTopic, partition: nil, key: Array(event.playerID.text.utf8), value: event.value,
            headers: OutcomeHeaders.of(event, traceparent: traceparent),
            timestampMilliseconds: nil)
    }

    /// Reports trouble until the publication has ended. Keep the result: while it lives, the process is not ready.
    private func report(
        _ error: KafkaError, _ record: ProducerRecord, _ owed: PublicationTrouble.Owed?
    ) -> PublicationTrouble.Owed? {
        guard !producer.isClosed else { return owed }
        failures.report(error, of: .publisher)
        say(error, record)
        return trouble.failed(error, topic: record.topic, owed: owed)
    }

    private func say(_ error: KafkaError, _ record: ProducerRecord) {
        guard !producer.isClosed else { return }
        let now = now()
        // Every record in flight would else say it at each try.
        let isNews = said.withLock { $0.leftOut(of: "\(record.topic) \(error.name)", now: now) } != nil
        if error.isMessageTooLarge {
            logger.log(
                level: isNews ? .error : .debug, "the topic refuses a record as too large: the worker tries again",
                [.topic: "\(record.topic)", .bytes: .stringConvertible(record.value?.count ?? 0)])
        } else {
            logger.log(
                level: isNews ? .warning : .debug, "publishing failed, trying again",
                [
                    .topic: "\(record.topic)", .error: "\(error.name)",
                    .reason: "\(PublicationTrouble.words(error))",
                ])
        }
    }

    private func pause(_ backoff: inout PublishBackoff) async throws(Abandoned) {
        if producer.isClosed { throw Abandoned() }
        // The pause is not cancellable on purpose: the outcome may be durable already, and its event is owed.
        await BlockingWork.pause(seconds: backoff.next())
        if producer.isClosed { throw Abandoned() }
    }
}

/// The pauses between the tries of one publication.
struct PublishBackoff {
    private var seconds = PipelineLimits.publishRetrySeconds

    mutating func next() -> Double {
        defer { seconds = min(seconds * 2, PipelineLimits.publishRetryMaximumSeconds) }
        return seconds
    }
}
