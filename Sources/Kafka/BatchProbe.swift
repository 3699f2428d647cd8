import CRDKafka

/// Finds the offsets of a batch that librdkafka cannot read, with a consumer of its own that joins no group.
///
/// librdkafka names the first offset of an unreadable batch, not the last. A fetch at any offset within the batch fails
/// with the same first offset. So the probe looks for the batch's end: it doubles its steps, then halves the rest.
public struct BatchProbe: Sendable {
    public enum Finding: Sendable, Equatable {
        /// The offset has a readable record, or the partition has no record from there on.
        case readable
        /// librdkafka cannot read these offsets. `words` is its error text; nil if librdkafka reports no error.
        case unreadable(ClosedRange<Int64>, words: String?)
    }

    /// The result of a fetch at one offset.
    private enum Look: Equatable {
        case readable
        /// The first offset of the batch, as librdkafka names it.
        case fails(base: Int64, words: String)
        /// The broker sends damaged records, for which librdkafka gives neither a record nor an error.
        case silent
    }

    /// The first offset counts as unreadable only if one look and this many further looks all fail.
    private static let repetitions = 2
    /// A look counts as silent if librdkafka gave nothing from this many fetches with records, and this many seconds
    /// have passed.
    private static let silentFetches = 3
    private static let silentSeconds = 3.0
    /// If the broker sends no records for this time, a look throws. The broker may be away, refuse the fetches, or
    /// throttle the client.
    private static let lookSeconds = 20.0
    /// For this time the probe also looks for unreadable batches right after the first batch, to report all of them
    /// together.
    private static let searchSeconds = 10.0
    private static let watermarkMilliseconds: Int32 = 10_000

    private let properties: KafkaProperties
    private let log: @Sendable (KafkaLogLine) -> Void

    /// - Parameter properties: a consumer's properties. Its `group.instance.id` has no effect.
    public init(properties: KafkaProperties, log: @escaping @Sendable (KafkaLogLine) -> Void) {
        var properties = properties
        properties["enable.partition.eof"] = "true"
        // The probe also reads records of aborted Kafka transactions, because an aborted batch is not a damaged batch.
        properties["isolation.level"] = "read_uncommitted"
        properties["group.instance.id"] = nil
        self.properties = properties
        self.log = log
    }

    /// Returns `readable`, or the unreadable offsets from `start` on. Blocks for seconds. Throws if Kafka does not
    /// answer, or sends no records.
    public func examine(_ partition: TopicPartition, at start: Int64) throws(KafkaError) -> Finding {
        let consumer = try KafkaConsumer(properties: properties, log: log)
        defer { consumer.abandon() }
        consumer.contact.countFetches(of: partition.topic)
        var first = try look(consumer, partition, start)
        for _ in 0..<Self.repetitions {
            guard first != .readable else { return .readable }
            first = try look(consumer, partition, start)
        }
        let deadline = ContinuousClock.now + .seconds(Self.searchSeconds)
        let words = if case .fails(_, let words) = first { words } else { String?.none }
        var end = start
        while first != .readable {
            let high = try consumer.watermarks(partition, timeoutMilliseconds: Self.watermarkMilliseconds).high
            guard end < high else { break }
            end = try self.end(of: first, from: end, below: high, consumer, partition)
            guard end < high, ContinuousClock.now < deadline else { break }
            first = try look(consumer, partition, end)
        }
        // The probe looks at `start` again, because the broker may have been in trouble only during the first looks.
        guard end > start, try look(consumer, partition, start) != .readable else { return .readable }
        return .unreadable(start...(end - 1), words: words)
    }

    /// Returns the first offset after the batch that `first` found.
    private func end(
        of first: Look, from start: Int64, below high: Int64, _ consumer: KafkaConsumer, _ partition: TopicPartition
    ) throws(KafkaError) -> Int64 {
        var inside = start
        var outside = high
        var step: Int64 = 1
        while inside + step < outside {
            if try isSame(try look(consumer, partition, inside + step), first) {
                inside += step
                step *= 2
            } else {
                outside = inside + step
            }
        }
        while outside - inside > 1 {
            let middle = inside + (outside - inside) / 2
            if try isSame(try look(consumer, partition, middle), first) { inside = middle } else { outside = middle }
        }
        return outside
    }

    private func isSame(_ look: Look, _ first: Look) throws(KafkaError) -> Bool {
        switch (look, first) {
        case (.fails(let one, _), .fails(let other, _)): one == other
        case (.silent, .silent): true
        default: false
        }
    }

    private func look(
        _ consumer: KafkaConsumer, _ partition: TopicPartition, _ offset: Int64
    ) throws(KafkaError) -> Look {
        try consumer.assign([partition: offset])
        let before = consumer.contact.fetchesWithRecords
        let began = ContinuousClock.now
        while true {
            switch consumer.poll(timeoutMilliseconds: 50) {
            case .record, .partitionEnd:
                return .readable
            case .trouble(let error) where error.isUnreadableBatch:
                return .fails(base: error.place?.offset ?? offset, words: error.message)
            case .trouble(let error) where !error.isRetriable:
                throw error
            case .trouble, nil:
                let passed = ContinuousClock.now - began
                let fetches = consumer.contact.fetchesWithRecords - before
                if passed > .seconds(Self.silentSeconds), fetches >= Self.silentFetches { return .silent }
                if passed > .seconds(Self.lookSeconds) { throw KafkaError(RD_KAFKA_RESP_ERR__TIMED_OUT) }
            }
        }
    }
}

extension KafkaError {
    /// True if the error says that librdkafka cannot unpack or read a batch. `place` has the batch's first offset.
    public var isUnreadableBatch: Bool {
        guard let place, place.topicPartition.partition >= 0, place.offset >= 0 else { return false }
        return [Code.badMessage, Code.badCompression, Code.notImplemented].contains(code)
    }
}
