import Encodings
import Foundation
import Fulfillment
import Kafka
import Synchronization
import TestSupport

/// Reads outcome events and dead letters from the beginnings of their topics, with its own consumer.
final class OutcomeLog: Sendable {
    struct Event: Sendable {
        let record: ConsumerRecord
        let json: JSONValue

        var id: String { text("event_id") }
        var type: String { text("type") }
        var submissionID: String { text("submission_id") }
        var playerID: String { text("player_id") }
        var reason: String? { json["reason"]?.string }
        var transactionID: String? { json["transaction_id"]?.string }

        private func text(_ name: String) -> String { json[name]?.string ?? "" }
    }

    struct Content: Sendable {
        /// The events in the order of each partition, including repeated ones.
        var events: [Event] = []
        var deadLetters: [ConsumerRecord] = []
        var answers: [String: Set<String>] = [:]
        var faults: [String] = []
    }

    private struct State {
        var content = Content()
        var isStopped = false
        /// The streams that wake the waiting tasks when a record arrives. The keys are the numbers of the waits.
        var arrivals: [Int: AsyncStream<Void>.Continuation] = [:]
        var waits = 0
    }

    private let state = Mutex(State())

    var content: Content { state.withLock { $0.content } }

    func events(of submissionID: String) -> [Event] {
        state.withLock { $0.content.events.filter { $0.submissionID == submissionID } }
    }

    init(outcomesTopic: String, deadLettersTopic: String, partitions: Int32, properties: KafkaProperties) {
        let thread = Thread { [self] in
            do throws(KafkaError) {
                var properties = properties
                for (name, value) in [
                    ("group.id", "outcome-log"), ("enable.auto.commit", "false"), ("fetch.wait.max.ms", "50"),
                    ("reconnect.backoff.max.ms", "500"),
                ] {
                    properties[name] = value
                }
                let consumer = try KafkaConsumer(properties: properties, log: { _ in })
                var starts: [TopicPartition: Int64] = [:]
                for topic in [outcomesTopic, deadLettersTopic] {
                    for partition in 0..<partitions { starts[TopicPartition(topic: topic, partition: partition)] = 0 }
                }
                try consumer.assign(starts)
                while !state.withLock({ $0.isStopped }) {
                    guard case .record(let record)? = consumer.poll(timeoutMilliseconds: 50) else { continue }
                    take(record, isOutcome: record.topicPartition.topic == outcomesTopic)
                }
                consumer.close()
            } catch {
                state.withLock { $0.content.faults.append("the outcomes cannot be read: \(error)") }
            }
        }
        thread.start()
    }

    func stop() {
        state.withLock { $0.isStopped = true }
    }

    /// Returns once `isAsWanted` is true of the content. Checks again after new records. Throws `DeadlinePassed` after
    /// the limit.
    func until(
        _ what: String, within limit: Duration = .seconds(60), file: StaticString = #fileID, line: UInt = #line,
        _ isAsWanted: (Content) throws -> Bool
    ) async throws {
        // However many records arrive during a check, only one more check follows.
        let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.waits += 1
            state.arrivals[state.waits] = arrival
            return state.waits
        }
        defer { state.withLock { _ = $0.arrivals.removeValue(forKey: number) } }
        let deadline = Task {
            try await Task.sleep(for: limit)
            arrival.finish()
        }
        defer { deadline.cancel() }
        arrival.yield()
        for await _ in arrivals where try isAsWanted(content) { return }
        try Task.checkCancellation()
        throw DeadlinePassed(description: "never came true: \(what) (\(file):\(line))")
    }

    private func take(_ record: ConsumerRecord, isOutcome: Bool) {
        SeenRecords.add(record, isOutcome: isOutcome)
        let json = isOutcome ? try? JSONParser.parse(record.value ?? []).value : nil
        state.withLock { state in
            if let json {
                let event = Event(record: record, json: json)
                state.content.events.append(event)
                state.content.answers[event.submissionID, default: []].insert(event.id)
            } else if isOutcome {
                state.content.faults.append("an outcome that is no JSON at \(record.topicPartition) \(record.offset)")
            } else {
                state.content.deadLetters.append(record)
            }
            for arrival in state.arrivals.values { arrival.yield() }
        }
    }
}
