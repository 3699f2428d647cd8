import BackOffice
import Dispatch
import Fulfillment
import Kafka
import Pipeline
import ReceiptdConfiguration
import Synchronization

/// Publishes dead letters again on the topics that they came from. Notes the letters and the operator's name in
/// PostgreSQL. Skips a letter that would only become a dead letter again.
package struct DeadLetterRedrive {
    /// The most records handed to librdkafka before the redrive waits for their acknowledgements.
    private static let window = 500
    private static let acknowledgeSeconds = 60.0

    private let kafka: KafkaSettings
    private let store: RedrivenStore
    private let changes: ConsoleChanges
    private let reading: RedriveReading
    private let filter: DeadLetterFilter
    private let options: Options

    package struct Options: Sendable {
        /// The most letters to publish; nil for all.
        var limit: Int?
        /// True to publish also records that an earlier redrive has published.
        var again: Bool
        var dryRun: Bool

        package init(limit: Int?, again: Bool, dryRun: Bool) {
            self.limit = limit
            self.again = again
            self.dryRun = dryRun
        }
    }

    package init(
        kafka: KafkaSettings, store: RedrivenStore, changes: ConsoleChanges, reading: RedriveReading,
        filter: DeadLetterFilter, options: Options
    ) {
        self.reading = reading
        self.kafka = kafka
        self.store = store
        self.changes = changes
        self.filter = filter
        self.options = options
    }

    package struct Ending: CustomStringConvertible, Sendable {
        var redriven = 0
        var redrivenBefore = 0
        var cut = 0
        var foreign = 0
        var stillDead = 0
        /// The fault of one of the letters that would become dead letters again.
        var example = ""
        var isDryRun = false

        package var description: String {
            var parts = [isDryRun ? "\(redriven) would be published again" : "\(redriven) published again"]
            if redrivenBefore > 0 {
                parts.append("\(redrivenBefore) were published again before (--again repeats them)")
            }
            if stillDead > 0 {
                parts.append(
                    """
                    \(stillDead) would become dead letters again, so they stay on the dead-letter topic (the fault of \
                    one: \(example))
                    """)
            }
            if cut > 0 {
                parts.append("\(cut) cannot be published again: the topic has only their beginning, ask their senders")
            }
            if foreign > 0 {
                parts.append("\(foreign) cannot be published again: their headers do not name their old topic")
            }
            return parts.joined(separator: "; ")
        }
    }

    /// The result of reading a dead letter: a few bytes, however large the letter is.
    private enum Found: Sendable {
        case place(RedrivenStore.Place)
        case cut
        case foreign
        case stillDead(String)
    }

    package func run(by operatorName: String) async throws -> Ending {
        let topic = DeadLetterTopic(settings: kafka)
        let found = try await topic.compactMap { [filter, reading] letter -> Found? in
            guard filter.admits(letter) else { return nil }
            if letter.isExcerpt { return .cut }
            guard let place = letter.redrivenPlace, let record = letter.record else { return .foreign }
            if let refusal = reading.refusal(of: record, from: place.topic) { return .stillDead(refusal.detail) }
            return .place(place)
        }
        var ending = Ending(isDryRun: options.dryRun)
        // The dead-letter topic may have one record twice. The set makes the redrive publish the record once.
        var places: Set<RedrivenStore.Place> = []
        for one in found {
            switch one {
            case .place(let place): places.insert(place)
            case .cut: ending.cut += 1
            case .foreign: ending.foreign += 1
            case .stillDead(let detail):
                ending.stillDead += 1
                ending.example = detail
            }
        }
        let before = options.again ? [] : try await store.redriven(of: Array(places))
        ending.redrivenBefore = before.count
        let waiting = places.subtracting(before)
        let due = options.limit.map { Set(waiting.prefix($0)) } ?? waiting
        ending.redriven = due.count
        if options.dryRun || due.isEmpty { return ending }
        let result = ending
        return try await changes.record(
            .redriveDeadLetters, of: filter.subject, shown: due.count, by: operatorName
        ) {
            try await putBack(due, from: topic)
            return result
        }
    }

    private func putBack(_ due: Set<RedrivenStore.Place>, from topic: DeadLetterTopic) async throws {
        let properties = KafkaClientProperties(settings: kafka).producer
        for name in Set(due.map { kafka.batchedTopics.contains($0.topic) ? $0.topic : kafka.submissionsTopic }) {
            try await DeadLetterTopic.requireTopic(name, KafkaClientProperties(settings: kafka).consumer)
        }
        let producer = try KafkaProducer(properties: properties, log: { _ in })
        let batch = Batch(due: due, producer: producer, kafka: kafka)
        let failure: (any Error)?
        do {
            _ = try await topic.compactMap { letter -> Bool? in
                try batch.add(letter)
                return nil
            }
            try await blocking { try batch.flush() }
            failure = nil
        } catch {
            failure = error
        }
        _ = try await blocking { producer.close() }
        // The redrive notes the letters after Kafka's acknowledgement. If the process dies in between, the next redrive
        // publishes the record a second time, which does no harm.
        try await store.note(batch.acknowledged)
        if let failure { throw failure }
    }

    /// The letters that the redrive is publishing. One thread at a time calls `add` and `flush`, and may block until
    /// Kafka acknowledges records. The producer's thread calls `note`.
    private final class Batch: Sendable {
        private struct State {
            var due: Set<RedrivenStore.Place>
            var waiting = 0
            var acknowledged: [RedrivenStore.Place] = []
            var failure: KafkaError?
        }

        private let state: Mutex<State>
        private let producer: KafkaProducer
        private let kafka: KafkaSettings
        private let reports = DispatchGroup()

        init(due: Set<RedrivenStore.Place>, producer: KafkaProducer, kafka: KafkaSettings) {
            state = Mutex(State(due: due))
            self.producer = producer
            self.kafka = kafka
        }

        var acknowledged: [RedrivenStore.Place] { state.withLock { $0.acknowledged } }

        func add(_ letter: StoredDeadLetter) throws {
            guard let place = letter.redrivenPlace else { return }
            // The topic of submissions may have had another name when the record became a dead letter.
            let topic = kafka.batchedTopics.contains(place.topic) ? place.topic : kafka.submissionsTopic
            guard let record = letter.original(to: topic) else { return }
            let waiting = state.withLock { state -> Int? in
                guard state.due.remove(place) != nil else { return nil }
                state.waiting += 1
                return state.waiting
            }
            guard let waiting else { return }
            reports.enter()
            do throws(KafkaError) {
                try producer.produce(record) { [self] result in
                    note(result, place)
                    reports.leave()
                }
            } catch {
                reports.leave()
                throw CommandFailure(
                    "some dead letters were not published again: \(error.name)", code: CommandFailure.unavailable)
            }
            if waiting >= DeadLetterRedrive.window { try flush() }
        }

        private func note(_ result: Result<Delivery, KafkaError>, _ place: RedrivenStore.Place) {
            state.withLock { state in
                switch result {
                case .success: state.acknowledged.append(place)
                case .failure(let error): state.failure = error
                }
            }
        }

        func flush() throws {
            let isInTime = reports.wait(timeout: .now() + DeadLetterRedrive.acknowledgeSeconds) == .success
            let failure = state.withLock { state in
                state.waiting = 0
                return state.failure
            }
            guard isInTime, failure == nil else {
                throw CommandFailure(
                    "some dead letters were not published again: \(failure?.name ?? "Kafka does not acknowledge")",
                    code: CommandFailure.unavailable)
            }
        }
    }
}

extension StoredDeadLetter {
    /// The record's topic, partition, offset and value; nil if the headers of the dead letter do not name the position.
    fileprivate var redrivenPlace: RedrivenStore.Place? {
        source.map {
            RedrivenStore.Place(
                topic: $0.partition.topic, partition: $0.partition.partition, offset: $0.offset, value: record?.value)
        }
    }
}
