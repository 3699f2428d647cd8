import Fulfillment
import Kafka
import Logging
import Operations
import Synchronization
import TestSupport
import Testing

@testable import Pipeline

@Suite("The publisher of outcome events and dead letters")
struct OutcomePublisherTests {
    private static let produce: Int16 = 0
    private static let tooLargeLine =
        "error the topic refuses a record as too large: raise its max.message.bytes; the worker tries again"
    private let cluster: MockCluster
    /// Each log line raises this signal.
    private let changes: ChangeSignal
    private let log: RecordedLog

    init() throws {
        cluster = try MockCluster(topics: [Sample.outcomes: 1, Sample.deadLetters: 1])
        changes = ChangeSignal()
        log = RecordedLog(changes: changes)
    }

    private func publisher(
        _ properties: KeyValuePairs<String, String> = [:], health: Health = Health()
    ) throws -> OutcomePublisher {
        var settings = PipelineBench.settings(cluster)
        for (name, value) in properties { settings.producerProperties[name] = value }
        let log = log
        // The clock does not advance. The number of warnings therefore does not depend on the machine's speed.
        return try OutcomePublisher(
            settings: settings, health: health, logger: Logger(label: "test") { _ in log }, now: { 0 })
    }

    @Test(
        "an idle publisher tells health that it makes progress, and a closed publisher does not count as stuck",
        .timeLimit(.minutes(1)))
    func progress() async throws {
        let beats = AsyncStream<Void>.makeStream()
        let seconds = Atomic<UInt64>(0)
        // Health reads the clock once for each beat.
        let health = Health(now: {
            beats.continuation.yield()
            return seconds.load(ordering: .relaxed) * 1_000_000_000
        })
        let publisher = try publisher(health: health)
        var iterator = beats.stream.makeAsyncIterator()
        for _ in 0..<3 { await iterator.next() }
        try await close(publisher)
        seconds.store(121, ordering: .relaxed)
        #expect(health.stuck.isEmpty)
    }

    private func read(_ topic: String) async throws -> [ConsumerRecord] {
        let properties = PipelineBench.properties(cluster)
        return try await blocking {
            try TopicReader.readAll(topic: topic, properties: properties, timeoutMilliseconds: 20_000)
        }
    }

    private func close(_ publisher: OutcomePublisher) async throws {
        try await blocking { publisher.close() }
    }

    /// Returns the values in the outcomes topic without their padding.
    private func published() async throws -> [String] {
        try await read(Sample.outcomes).map { $0.text.replacing(" ", with: "") }
    }

    @Test("before the publisher sends an isolated record's events, it marks the record once as no longer at work")
    func answersOfSuspects() async throws {
        let publisher = try publisher()
        let changes = AsyncStream<Bool>.makeStream()
        let accusation = Accusation { isAtWork in
            changes.continuation.yield(isAtWork)
            return true
        }
        try await Suspected.$work.withValue(accusation) {
            try await publisher.publish([Sample.event(0), Sample.event(1)], traceparent: nil)
            try await publisher.publish(Sample.event(2), traceparent: nil)
        }
        changes.continuation.finish()
        // The accusation is withdrawn once, before the first event is sent.
        #expect(await changes.stream.reduce(into: []) { $0.append($1) } == [false])
        try await close(publisher)
    }

    @Test("the publisher retries events that the broker refuses, in order, until the broker stores the events")
    func retried() async throws {
        let publisher = try publisher()
        // librdkafka does not retry after TOPIC_AUTHORIZATION_FAILED.
        cluster.pushRequestErrors(apiKey: Self.produce, [29, 29])
        try await publisher.publish((0..<5).map { Sample.event($0) }, traceparent: nil)
        // A second request of the first try may have stored some of these events already.
        #expect(try await published().suffix(5) == ["0", "1", "2", "3", "4"])
        cluster.pushRequestErrors(apiKey: Self.produce, [29])
        try await publisher.publish([Sample.event(5)], traceparent: "00-1-2-01")
        let last = try #require(try await read(Sample.outcomes).last)
        #expect(last.text == "5")
        #expect(last.header("traceparent") == "00-1-2-01")
        #expect(log.lines.count { $0 == "warning publishing failed, trying again" } == 1)
        try await close(publisher)
    }

    @Test(
        "while Kafka refuses an event, the process is not ready, and health names the cause", .timeLimit(.minutes(1)),
        arguments: [
            (Int32(32), "this host's clock is wrong"), (29, "Kafka does not allow writing to it"),
        ])
    func refused(code: Int32, words: String) async throws {
        let health = Health()
        let publisher = try publisher(["retries": "1", "retry.backoff.ms": "1"], health: health)
        try await publisher.publish([Sample.event(0)], traceparent: nil)
        #expect(!health.unmet.contains { $0.contains("publishing") })
        cluster.pushRequestErrors(apiKey: Self.produce, Array(repeating: code, count: 1000))
        async let published: Void = publisher.publish([Sample.event(1)], traceparent: nil)
        // The first failure is in health before the second log line.
        try await changes.until("publishing fails twice") {
            log.lines.count { $0.hasSuffix("publishing failed, trying again") } >= 2
        }
        #expect(health.unmet.contains { $0.contains("publishing to \(Sample.outcomes) fails") && $0.contains(words) })
        cluster.clearRequestErrors(apiKey: Self.produce)
        try await published
        #expect(!health.unmet.contains { $0.contains("publishing") })
        #expect(try await self.published() == ["0", "1"])
        try await close(publisher)
    }

    @Test("after a fatal error the publisher replaces its idempotent producer, and publishes all events")
    func replaced() async throws {
        let publisher = try publisher(["enable.idempotence": "true"])
        try await publisher.publish([Sample.event(0)], traceparent: nil)
        // Error 45, OUT_OF_ORDER_SEQUENCE_NUMBER, is fatal to the producer if it concerns the oldest unacknowledged
        // batch.
        cluster.pushRequestErrors(apiKey: Self.produce, [45])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...20 {
                group.addTask { try await publisher.publish([Sample.event(number)], traceparent: nil) }
            }
            try await group.waitForAll()
        }
        #expect(Set(try await published()) == Set((0...20).map(String.init)))
        #expect(log.detail.contains { $0.hasPrefix("FATAL") })
        try await close(publisher)
    }

    @Test("if the topic refuses an event as too large, the publisher retries until the topic accepts the event")
    func tooLarge() async throws {
        let publisher = try publisher()
        cluster.pushRequestErrors(apiKey: Self.produce, [10, 10])
        try await publisher.publish([Sample.event(0)], traceparent: nil)
        #expect(try await published() == ["0"])
        #expect(log.lines.count { $0 == Self.tooLargeLine } == 1)
        try await close(publisher)
    }

    @Test("if an outbox event is too large, the publisher leaves it unacknowledged, and publishes the other events")
    func sweep() async throws {
        let publisher = try publisher(["message.max.bytes": "2000"])
        let events = (0..<6).map { Sample.event($0, bytes: $0 == 2 ? 4000 : 0) }
        let acknowledged = try await publisher.publish(events.map { UnpublishedEvent(event: $0, traceparent: nil) })
        #expect(acknowledged == [0, 1, 3, 4, 5].map { events[$0].eventID })
        #expect(try await published() == ["0", "1", "3", "4", "5"])
        try await close(publisher)
    }

    @Test("if the broker refuses outbox events, the publisher retries the events in order")
    func sweepRetried() async throws {
        let publisher = try publisher()
        cluster.pushRequestErrors(apiKey: Self.produce, [29])
        let events = (0..<6).map { Sample.event($0) }
        let acknowledged = try await publisher.publish(events.map { UnpublishedEvent(event: $0, traceparent: nil) })
        #expect(acknowledged == events.map(\.eventID))
        #expect(try await published().suffix(6) == (0..<6).map(String.init)[...])
        #expect(try await publisher.publish([]).isEmpty)
        try await close(publisher)
    }

    @Test(
        "if outbox events are too large only together, the publisher sends each event alone and logs none as too large")
    func sweepTooLargeTogether() async throws {
        let publisher = try publisher(["linger.ms": "100"])
        // The broker refuses all records of one request.
        cluster.pushRequestErrors(apiKey: Self.produce, [10])
        let events = (0..<6).map { Sample.event($0) }
        let acknowledged = try await publisher.publish(events.map { UnpublishedEvent(event: $0, traceparent: nil) })
        #expect(acknowledged == events.map(\.eventID))
        #expect(Set(try await published()) == Set((0..<6).map(String.init)))
        #expect(!log.holds(Self.tooLargeLine))
        try await close(publisher)
    }

    @Test("if events are too large only together, the publisher sends each event alone, in order")
    func tooLargeTogether() async throws {
        let publisher = try publisher(["linger.ms": "100"])
        cluster.pushRequestErrors(apiKey: Self.produce, [10])
        try await publisher.publish((0..<6).map { Sample.event($0) }, traceparent: nil)
        #expect(try await published().suffix(6) == (0..<6).map(String.init)[...])
        #expect(!log.holds(Self.tooLargeLine))
        try await close(publisher)
    }

    @Test("if a dead letter is too large, the publisher sends an excerpt; after other refusals, the whole dead letter")
    func deadLetter() async throws {
        let publisher = try publisher(["message.max.bytes": "200000"])
        let record = Sample.record(key: [1], value: [UInt8](repeating: 1, count: 300_000))
        let letter = DeadLetter(reason: .tooLarge, detail: "too large")
        try await publisher.publish(letter, of: record, position: Sample.position(record))
        cluster.pushRequestErrors(apiKey: Self.produce, [10])
        let small = Sample.record(key: [2], value: [1, 2, 3])
        try await publisher.publish(letter, of: small, position: Sample.position(small))
        cluster.pushRequestErrors(apiKey: Self.produce, [29])
        let whole = Sample.record(key: [3], value: [4])
        try await publisher.publish(letter, of: whole, position: Sample.position(whole))
        let letters = try await read(Sample.deadLetters)
        #expect(letters.map(\.key) == [[1], [2], [3]])
        #expect(letters.map { $0.value?.count } == [65_536, 3, 1])
        #expect(letters.map { $0.header("dead-letter-value-length") } == ["300000", "3", nil])
        try await close(publisher)
    }

    @Test(
        "a cancelled task gives up its dead letter, unless the caller requires publication despite cancellation",
        .timeLimit(.minutes(1)))
    func cancelledLetter() async throws {
        let publisher = try publisher()
        let letter = DeadLetter(reason: .malformedMessage, detail: "no use")
        func publish(key: UInt8, evenIfCancelled: Bool) -> Task<Bool, Never> {
            let record = Sample.record(key: [key], value: [1])
            return Task {
                do throws(Abandoned) {
                    try await publisher.publish(
                        letter, of: record, position: Sample.position(record), evenIfCancelled: evenIfCancelled)
                } catch {
                    return false
                }
                return true
            }
        }
        cluster.pushRequestErrors(apiKey: Self.produce, Array(repeating: 29, count: 1000))
        let givenUp = publish(key: 1, evenIfCancelled: false)
        try await changes.until("publishing fails") { log.holds("warning publishing failed, trying again") }
        givenUp.cancel()
        #expect(await !givenUp.value)
        let owed = publish(key: 2, evenIfCancelled: true)
        owed.cancel()
        cluster.clearRequestErrors(apiKey: Self.produce)
        #expect(await owed.value)
        #expect(try await read(Sample.deadLetters).map(\.key) == [[2]])
        try await close(publisher)
    }

    @Test("a closing publisher abandons the events that Kafka refuses, and a closed publisher accepts no event")
    func closing() async throws {
        let publisher = try publisher()
        cluster.pushRequestErrors(apiKey: Self.produce, Array(repeating: 29, count: 100))
        let waiting = Task { () -> Bool in
            do throws(Abandoned) { try await publisher.publish([Sample.event(0)], traceparent: nil) } catch {
                return true
            }
            return false
        }
        try await changes.until("publishing fails") { log.holds("warning publishing failed, trying again") }
        try await close(publisher)
        #expect(await waiting.value)
        await #expect(throws: Abandoned.self) { try await publisher.publish([Sample.event(1)], traceparent: nil) }
    }
}
