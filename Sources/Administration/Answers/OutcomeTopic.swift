import Kafka
import NamesAndTimes
import Pipeline
import ReceiptdConfiguration

/// Reads the outcomes topic without joining a consumer group, so that no other consumer loses partitions. Does not read
/// a partition that is added after the start.
package struct OutcomeTopic: Sendable {
    package enum Start: Sendable {
        case beginning
        case time(Timestamp)
        case offsets([TopicPartition: Int64])
    }

    package enum Step: Sendable {
        case record(ConsumerRecord)
        /// No record came within one poll.
        case nothing
    }

    private static let pollMilliseconds: Int32 = 200
    private static let callMilliseconds: Int32 = 30_000

    private let topic: String
    private let properties: KafkaProperties

    package init(settings: KafkaSettings) {
        topic = settings.outcomesTopic
        properties = KafkaClientProperties(settings: settings).consumer
    }

    /// Returns the end offset of each partition. Throws a `CommandFailure` with exit code 69 if Kafka does not answer,
    /// or has no outcomes topic.
    package func ends() async throws -> [TopicPartition: Int64] {
        try await DeadLetterTopic.requireTopic(topic, properties)
        return try await reading { consumer in
            try partitions(consumer).reduce(into: [:]) { $0[$1] = try watermarks($1, consumer).high }
        }
    }

    /// Reads events, in order within each partition.
    /// - Parameters:
    ///   - follow: true to read new events too, until `body` returns false.
    ///   - body: gets each event, on a thread that it may block. Returns true to continue.
    package func read(
        from start: Start, follow: Bool, _ body: @escaping @Sendable (Step) throws -> Bool
    ) async throws {
        try await DeadLetterTopic.requireTopic(topic, properties)
        try await reading { consumer in try read(consumer, from: start, follow: follow, body) }
    }

    private func reading<Value: Sendable>(
        _ body: @escaping @Sendable (KafkaConsumer) throws -> Value
    ) async throws -> Value {
        try await blocking {
            var properties = properties
            // The last records of a log may be transaction markers, which librdkafka does not deliver. Only
            // librdkafka's event about the partition's end then shows that the log ends there.
            properties["enable.partition.eof"] = "true"
            let recorder = TroubleRecorder()
            do {
                let consumer = try KafkaConsumer(properties: properties, log: recorder.note)
                defer { consumer.close() }
                return try body(consumer)
            } catch let error as KafkaError {
                throw CommandFailure(kafka: error, recorder)
            }
        }
    }

    private func partitions(_ consumer: KafkaConsumer) throws(KafkaError) -> [TopicPartition] {
        let known = try consumer.metadata(topic: topic, timeoutMilliseconds: Self.callMilliseconds)
        return (known.topics[topic] ?? []).map { TopicPartition(topic: topic, partition: $0) }
    }

    private func watermarks(
        _ partition: TopicPartition, _ consumer: KafkaConsumer
    ) throws(KafkaError) -> (low: Int64, high: Int64) {
        try consumer.watermarks(partition, timeoutMilliseconds: Self.callMilliseconds)
    }

    private func read(
        _ consumer: KafkaConsumer, from start: Start, follow: Bool, _ body: (Step) throws -> Bool
    ) throws {
        let partitions = try partitions(consumer)
        var open: [TopicPartition: Int64] = [:]
        var ends: [TopicPartition: Int64] = [:]
        let asked = try offsets(start, of: partitions, consumer)
        for partition in partitions {
            let (low, high) = try watermarks(partition, consumer)
            let first = max(low, min(asked?[partition] ?? (asked == nil ? low : high), high))
            guard follow || first < high else { continue }
            open[partition] = first
            ends[partition] = high
        }
        guard !open.isEmpty else { return }
        try consumer.assign(open)
        while follow || !ends.isEmpty {
            switch consumer.poll(timeoutMilliseconds: Self.pollMilliseconds) {
            case .record(let record):
                guard let end = ends[record.topicPartition] else { continue }
                if record.offset >= end - 1, !follow { ends[record.topicPartition] = nil }
                guard follow || record.offset < end else { continue }
                guard try body(.record(record)) else { return }
            case .partitionEnd(let partition, _):
                if !follow { ends[partition] = nil }
                guard try body(.nothing) else { return }
            case .trouble(let error) where !error.isRetriable: throw error
            case .trouble, nil: guard try body(.nothing) else { return }
            }
        }
    }

    /// Returns the offset at which to begin in each partition; nil to begin with the earliest records. Leaves out a
    /// partition that has no record since the time of `start`.
    private func offsets(
        _ start: Start, of partitions: [TopicPartition], _ consumer: KafkaConsumer
    ) throws(KafkaError) -> [TopicPartition: Int64]? {
        switch start {
        case .beginning: nil
        case .time(let time):
            try consumer.offsetsForTime(
                partitions, milliseconds: time.milliseconds, timeoutMilliseconds: Self.callMilliseconds)
        case .offsets(let offsets): offsets
        }
    }
}
