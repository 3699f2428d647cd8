import Fulfillment
import Kafka
public import Logging
import NamesAndTimes
public import Operations
import Synchronization

/// Receives Apple's posts, and writes a notification to its topic if its signatures are proven. The intake decides
/// nothing else, and keeps only the ids of stored notifications. If it refuses a notification, Apple posts the
/// notification again.
public final class NotificationIntake: Sendable {
    /// The most records in librdkafka that no broker has acknowledged.
    static let maximumOutstanding = 1_000

    private let topic: String
    private let parser: any NotificationParser
    private let bundleIDs: Set<BundleID>?
    private let acknowledgementSeconds: Double
    private let producer: ReplaceableProducer
    private let properties: KafkaProperties
    private let voice: KafkaVoice
    private let health: Health
    private let counts: CounterFamily
    private let logger: Logger
    private let stored = OncePosted<Failure>()

    /// - Parameters:
    ///   - bundleIDs: the apps whose notifications are accepted; nil for all apps.
    ///   - acknowledgementSeconds: the seconds that a broker may take to acknowledge a notification. Apple waits some
    ///     seconds for the answer to its post.
    public init(
        topic: String, producerProperties: KafkaProperties, parser: any NotificationParser, bundleIDs: Set<BundleID>?,
        acknowledgementSeconds: Double = 8, metrics: ReceiptdMetrics, health: Health, logger: Logger
    ) throws(KafkaError) {
        self.topic = topic
        self.parser = parser
        self.bundleIDs = bundleIDs
        self.acknowledgementSeconds = acknowledgementSeconds
        self.health = health
        properties = producerProperties
        voice = KafkaVoice(besides: health.failures)
        self.logger = logger
        counts = metrics.notifications
        producer = try ReplaceableProducer(
            properties: producerProperties, topic: topic, health: health, voice: voice, logger: logger)
    }

    /// Watches the broker and the topic until its task is cancelled. If a post reported a failure, the watch ends this
    /// failure when a broker answers. No later post could: a load balancer that reads `/readyz` sends no posts to a
    /// process that is not ready.
    public func watch() async {
        async let topicWatch: Void = TopicWatch.run(
            topics: [WatchedTopic(name: topic, isNeeded: true)], properties: properties,
            log: KafkaLog.forward(to: logger, folding: voice), health: health)
        await BrokerWatch(
            ask: { [producer, topic] (milliseconds) throws(KafkaError) in
                _ = try producer.current.metadata(topic: topic, timeoutMilliseconds: milliseconds)
            }, health: health, recovers: .publisher
        ).run()
        await topicWatch
    }

    /// Closes the producer. Returns when a broker has acknowledged each record under way, or the record's time is over.
    public func close() async {
        await withCheckedContinuation { continuation in
            // `close` waits for the producer's thread, so it must not run on the cooperative pool.
            BlockingWork.run { [producer] in
                producer.close()
                continuation.resume()
            }
        }
    }

    /// Handles one post of Apple. Returns when a broker has acknowledged the notification, or after
    /// `acknowledgementSeconds`.
    public func take(_ body: [UInt8]) async -> IntakeAnswer {
        let notification: StoreNotification
        switch parser.parse(notification: body) {
        case .unusable(let why): return refused("unreadable", why)
        case .notProvable(let why): return unavailable("unreadable", why, "not_provable")
        case .read(let read): notification = read
        }
        let type = NotificationWorker.seriesName(of: notification.type)
        if let bundleIDs, notification.bundleID.map({ !bundleIDs.contains($0) }) ?? true {
            return refused(type, "the intake does not take notifications of this app")
        }
        for part in [notification.transaction.fault, notification.renewal.fault] {
            switch part {
            case .unusable(let why): return refused(type, why)
            case .notProvable(let why): return unavailable(type, why, "not_provable")
            case nil: break
            }
        }
        let record = ProducerRecord(
            topic: topic, partition: nil, key: Array(notification.orderingKey.text.utf8), value: body, headers: [],
            timestampMilliseconds: nil)
        let storing = await stored.once(notification.id.text) { await failure(of: record) }
        switch storing {
        case .stored: counts.with(type, "taken").increment()
        case .storedBefore: counts.with(type, "repeated").increment()
        case .failed(let failure):
            switch failure {
            case .kafka(let error): health.failures.report(error, of: .publisher)
            case .noAcknowledgement: health.failures.failed(.publisher, "the broker does not acknowledge in time")
            }
            return unavailable(type, "Kafka did not acknowledge the notification", "unavailable")
        }
        return .taken
    }

    private func refused(_ type: String, _ why: String) -> IntakeAnswer {
        counts.with(type, "refused").increment()
        logger.notice("the intake refuses a notification", [.detail: "\(why)"])
        return .refused(why)
    }

    private func unavailable(_ type: String, _ why: String, _ result: String) -> IntakeAnswer {
        counts.with(type, result).increment()
        logger.warning("a notification was not stored: Apple will send it again", [.detail: "\(why)"])
        return .unavailable(why)
    }

    private enum Failure: Sendable {
        case kafka(KafkaError)
        case noAcknowledgement
    }

    /// Sends a record. Returns nil when a broker has acknowledged it, otherwise the failure.
    private func failure(of record: ProducerRecord) async -> Failure? {
        let producer = producer.current
        guard producer.outstandingCount < Self.maximumOutstanding else { return .noAcknowledgement }
        return await withCheckedContinuation { continuation in
            let waiting = Waiting(continuation)
            do throws(KafkaError) {
                try producer.produce(record) { [failures = health.failures] result in
                    switch result {
                    case .success:
                        // Kafka works, even if this post has timed out already.
                        failures.recovered(.publisher)
                        waiting.end(nil)
                    case .failure(let error): waiting.end(.kafka(error))
                    }
                }
            } catch {
                return waiting.end(.kafka(error))
            }
            // If the acknowledgement comes later, Apple posts the notification again, and the topic has two records of
            // the notification. The workers count only one of the records.
            waiting.giveUp(afterSeconds: acknowledgementSeconds)
        }
    }

    /// A record under way, until a broker acknowledges it or its time is over.
    private final class Waiting: Sendable {
        private struct State {
            var continuation: CheckedContinuation<Failure?, Never>?
            var timer: Task<Void, Never>?
        }

        private let state: Mutex<State>

        init(_ continuation: CheckedContinuation<Failure?, Never>) {
            state = Mutex(State(continuation: continuation))
        }

        func end(_ failure: Failure?) {
            let ended = state.withLock { state in
                defer { state = State() }
                return state
            }
            ended.timer?.cancel()
            ended.continuation?.resume(returning: failure)
        }

        func giveUp(afterSeconds seconds: Double) {
            let timer = Task {
                guard (try? await Task.sleep(for: .seconds(seconds))) != nil else { return }
                self.end(.noAcknowledgement)
            }
            let isWaiting = state.withLock { state in
                if state.continuation != nil { state.timer = timer }
                return state.continuation != nil
            }
            if !isWaiting { timer.cancel() }
        }
    }
}

/// The fault of an invalid part of a notification.
private enum PartFault {
    case unusable(String)
    case notProvable(String)
}

extension SignedPart {
    fileprivate var fault: PartFault? {
        switch self {
        // The intake accepts signed data that it cannot read, and the workers report it to an operator. After a
        // refusal, Apple would only post the same data again.
        case .none, .told, .unreadable: nil
        case .unusable(let why): .unusable(why)
        case .notProvable(let why): .notProvable(why)
        }
    }
}

extension StoreNotification {
    /// The record's key. Notifications about one subscription or purchase have the same key, which keeps their order.
    fileprivate var orderingKey: Identifier {
        transaction.told?.purchase.originalTransactionID ?? renewal.told?.originalTransactionID ?? id
    }
}
