import Fulfillment
import Kafka
public import Logging
import NamesAndTimes
public import Operations
import Synchronization

/// Puts notifications that Apple posts on their topic, once their signatures are proven. The intake decides nothing
/// else, and remembers only the ids of stored notifications. If the intake refuses a notification, Apple posts it
/// again.
public final class NotificationIntake: Sendable {
    /// The most records that librdkafka holds without an acknowledgement of a broker.
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
    ///   - bundleIDs: the apps whose notifications are taken; nil for all.
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

    /// Asks whether Kafka and the topic can be used, until its task is cancelled. A broker's answer also ends the
    /// failure of posts. Otherwise only a post could end it, and a sender that reads `/readyz` posts nothing to a
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

    /// Closes the producer. Returns once a broker has acknowledged each record under way, or its time is over.
    public func close() async {
        await withCheckedContinuation { continuation in
            // The call joins the producer's thread.
            BlockingWork.run { [producer] in
                producer.close()
                continuation.resume()
            }
        }
    }

    /// Takes one post of Apple. Returns once a broker has acknowledged the notification, or after
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

    /// Sends a record. Returns nil once a broker has acknowledged it, or else the failure.
    private func failure(of record: ProducerRecord) async -> Failure? {
        let producer = producer.current
        guard producer.outstandingCount < Self.maximumOutstanding else { return .noAcknowledgement }
        return await withCheckedContinuation { continuation in
            let waiting = Waiting(continuation)
            do throws(KafkaError) {
                try producer.produce(record) { [failures = health.failures] result in
                    switch result {
                    case .success:
                        // Kafka works, even if the post was given up before.
                        failures.recovered(.publisher)
                        waiting.end(nil)
                    case .failure(let error): waiting.end(.kafka(error))
                    }
                }
            } catch {
                return waiting.end(.kafka(error))
            }
            // If the acknowledgement comes later, Apple posts the notification again and the topic has it twice. The
            // workers count it once.
            waiting.giveUp(afterSeconds: acknowledgementSeconds)
        }
    }

    /// A record on its way, until it is acknowledged or given up.
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

/// The reason why a part of a notification is invalid.
private enum PartFault {
    case unusable(String)
    case notProvable(String)
}

extension SignedPart {
    fileprivate var fault: PartFault? {
        switch self {
        // The intake stores signed data that it cannot read, and the workers report it to an operator. A refusal would
        // only make Apple post it again.
        case .none, .told, .unreadable: nil
        case .unusable(let why): .unusable(why)
        case .notProvable(let why): .notProvable(why)
        }
    }
}

extension StoreNotification {
    /// The record's key, which keeps the order of notifications about one subscription or one purchase.
    fileprivate var orderingKey: Identifier {
        transaction.told?.purchase.originalTransactionID ?? renewal.told?.originalTransactionID ?? id
    }
}
