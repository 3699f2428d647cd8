import Fulfillment
import Kafka
import Logging
import NamesAndTimes
import Operations
import Synchronization

/// Publishes events and dead letters, and returns when a broker has acknowledged them.
///
/// The publisher retries an event until Kafka acknowledges it or the publisher closes. It retries even if the topic
/// refuses the event as too large. receiptd must publish the event of each grant, and an operator can raise the topic's
/// `max.message.bytes`. A submission cannot make an event too large, because the fields that an event copies from the
/// submission have limits. `OutcomeEvent.maximumListedTransactions` and the catalog's limits bound the data from Apple
/// and the catalog.
public final class OutcomePublisher: Sendable {
    private let outcomesTopic: String
    private let deadLettersTopic: String
    let failures: Failures
    private let trouble: PublicationTrouble
    let voice: KafkaVoice
    private let logger: Logger
    private let producer: ReplaceableProducer
    /// The clock, in monotonic seconds.
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

    /// Publishes the events in order. Sends them without waiting for each acknowledgement, because one producer keeps
    /// the order of each key.
    func publish(_ events: [OutcomeEvent], traceparent: String?) async throws(Abandoned) {
        if events.count == 1 { return try await publish(events[0], traceparent: traceparent) }
        try await publish(events.map { TracedEvent(event: $0, traceparent: traceparent) })
    }

    /// Publishes the events in order, each with its own trace context.
    func publish(_ events: [TracedEvent]) async throws(Abandoned) {
        var remaining = events.map { record(for: $0.event, traceparent: $0.traceparent) }[...]
        var backoff = PublishBackoff()
        var owed: PublicationTrouble.Owed?
        while true {
            let failures = await sendAll(remaining)
            guard let first = failures.keys.min(), let error = failures[first] else {
                return self.failures.recovered(.publisher)
            }
            if error.isMessageTooLarge {
                // A broker refuses a batch of records as a whole. So the refused event may be small enough by itself.
                for record in remaining[first...] { try await send(record, evenIfTooLarge: true) }
                return
            }
            owed = report(error, remaining[first], owed)
            // The publisher sends again from the first failed event on, in order. A consumer may see duplicates, but no
            // event overtakes an earlier event.
            remaining = remaining[first...]
            try await pause(&backoff)
        }
    }

    func publish(_ event: OutcomeEvent, traceparent: String?) async throws(Abandoned) {
        try await send(record(for: event, traceparent: traceparent), evenIfTooLarge: true)
    }

    /// Sends the record by itself until Kafka acknowledges it. Returns false if the topic refuses it as too large and
    /// `evenIfTooLarge` is false, otherwise true.
    @discardableResult
    private func send(_ record: ProducerRecord, evenIfTooLarge: Bool) async throws(Abandoned) -> Bool {
        var backoff = PublishBackoff()
        var owed: PublicationTrouble.Owed?
        while true {
            do {
                _ = try await Suspected.answering { () async throws(KafkaError) in
                    try await producer.current.send(record)
                }
                failures.recovered(.publisher)
                return true
            } catch {
                if error.isMessageTooLarge, !evenIfTooLarge {
                    say(error, record)
                    return false
                }
                owed = report(error, record, owed)
                try await pause(&backoff)
            }
        }
    }

    /// Publishes events of the outbox in order. An event that the topic refuses as too large, even by itself, stays in
    /// the outbox, and the publisher continues with the others.
    /// - Returns: the ids of the acknowledged events.
    func publish(_ events: [UnpublishedEvent]) async throws(Abandoned) -> [NameBasedUUID] {
        let records = events.map { record(for: $0.event, traceparent: $0.traceparent) }
        var refused: Set<Int> = []
        var remaining = records[...]
        var backoff = PublishBackoff()
        var owed: PublicationTrouble.Owed?
        while true {
            let failures = await sendAll(remaining)
            let next = failures.filter { !$0.value.isMessageTooLarge }.keys.min()
            // A broker refuses a batch of records as a whole, so the publisher sends each refused record by itself. If
            // a record failed for another reason, the code below sends that record and all later records again.
            for index in failures.keys.sorted() where index < next ?? records.endIndex {
                if try await !send(records[index], evenIfTooLarge: false) { refused.insert(index) }
            }
            guard let first = next else {
                if refused.isEmpty { self.failures.recovered(.publisher) }
                break
            }
            if let error = failures[first] { owed = report(error, records[first], owed) }
            remaining = remaining[first...]
            try await pause(&backoff)
        }
        return events.indices.filter { !refused.contains($0) }.map { events[$0].event.eventID }
    }

    /// Sends the original record to the dead-letter topic, or an excerpt if the topic refuses the whole record as too
    /// large.
    /// - Parameter evenIfCancelled: true to continue in a cancelled task. If false, the publisher gives up. The
    ///   record's offset is then not committed, so the partition's next owner sends the dead letter.
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
                _ = try await Suspected.answering { () async throws(KafkaError) in
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

    /// Sends a request, and blocks until a broker answers or `timeoutMilliseconds` have passed. Throws if no broker
    /// answers, and if the broker's answer for the topic is an error.
    func askBroker(timeoutMilliseconds: Int32) throws(KafkaError) {
        _ = try producer.current.metadata(topic: outcomesTopic, timeoutMilliseconds: timeoutMilliseconds)
    }

    /// Delivers the records under way, then ends the producer's thread. Blocks.
    public func close() { producer.close() }

    /// Sends all records. Returns the errors of the failed records, by index in `records`.
    private func sendAll(_ records: ArraySlice<ProducerRecord>) async -> DeliveryCount.Failures {
        guard !records.isEmpty else { return [:] }
        return await Suspected.answering { await deliver(records) }
    }

    private func deliver(_ records: ArraySlice<ProducerRecord>) async -> DeliveryCount.Failures {
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
                // The later records count as failed too, so that none overtakes this record.
                for left in index + 1..<records.endIndex { count.ended(left, error) }
                break
            }
        }
        return await count.failures()
    }

    private func record(for event: OutcomeEvent, traceparent: String?) -> ProducerRecord {
        ProducerRecord(
            topic: outcomesTopic, partition: nil, key: Array(event.playerID.text.utf8), value: event.value,
            headers: OutcomeHeaders.of(event, traceparent: traceparent),
            timestampMilliseconds: nil)
    }

    /// Reports a failed publication. The caller must keep the result until the publication ends, because the process is
    /// not ready while the result is in memory.
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
        // Without `said`, each record in flight would log a warning at each attempt.
        let isNews = said.withLock { $0.leftOut(of: "\(record.topic) \(error.name)", now: now) } != nil
        if error.isMessageTooLarge {
            logger.log(
                level: isNews ? .error : .debug,
                "the topic refuses a record as too large: raise its max.message.bytes; the worker tries again",
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
        // The pause ignores cancellation. The outcome may be durable, and receiptd must then publish its event.
        await BlockingWork.pause(seconds: backoff.next())
        if producer.isClosed { throw Abandoned() }
    }
}

/// The pauses between the attempts of one publication.
struct PublishBackoff {
    private var seconds = PipelineLimits.publishRetrySeconds

    mutating func next() -> Double {
        defer { seconds = min(seconds * 2, PipelineLimits.publishRetryMaximumSeconds) }
        return seconds
    }
}
