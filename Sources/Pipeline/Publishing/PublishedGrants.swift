import Encodings
import Fulfillment
import Kafka
import NamesAndTimes

/// Reads back from the outcomes topic whose purchases were published as granted. Joins no group; its calls block.
struct PublishedGrants: Sendable {
    private static let callMilliseconds: Int32 = 10_000
    private static let pollMilliseconds: Int32 = 200
    private static let kind = Array(OutcomeEvent.Kind.granted.rawValue.utf8)

    let topic: String
    let properties: KafkaProperties
    let log: @Sendable (KafkaLogLine) -> Void

    /// The owners of original transactions and periods, by the earliest event that names one.
    struct Owners {
        private var found: [StoreTransactionID: (claim: PublishedClaim, at: Int64)] = [:]

        var count: Int { found.count }

        mutating func add(_ claim: PublishedClaim, at time: Int64) {
            if let known = found[claim.id], known.at <= time { return }
            found[claim.id] = (claim, time)
        }

        /// Returns them sorted by id, and forgets them.
        mutating func takeAll() -> [PublishedClaim] {
            defer { found.removeAll() }
            return found.values.map(\.claim).sorted { $0.id < $1.id }
        }
    }

    /// Reads up to the present end of the topic. Throws a `KafkaError`, also where nothing comes for a while, and what `enter` throws.
    /// - Parameters:
    ///   - isCancelled: asked now and then; where it says so, a `CancellationError` is thrown.
    ///   - enter: is given owners, each time as many as memory may hold. The first given owner counts.
    func read(
        since time: Timestamp, isCancelled: () -> Bool, _ enter: ([PublishedClaim]) throws -> Void
    ) throws {
        var properties = properties
        properties["enable.partition.eof"] = "true"
        let consumer = try KafkaConsumer(properties: properties, log: log)
        defer { consumer.close() }
        let (starts, open) = try stretches(since: time, consumer)
        var owners = Owners()
        if !starts.isEmpty { try consumer.assign(starts) }
        var ends = open
        var lastHeard = ContinuousClock.now
        while !ends.isEmpty {
            if isCancelled() { throw CancellationError() }
            switch consumer.poll(timeoutMilliseconds: Self.pollMilliseconds) {
            case .record(let record):
                lastHeard = .now
                guard let end = ends[record.topicPartition] else { continue }
                if record.offset < end {
                    for claim in Self.claims(of: record) { owners.add(claim, at: record.timestampMilliseconds ?? 0) }
                }
                if record.offset >= end - 1 { ends[record.topicPartition] = nil }
                if owners.count >= PipelineLimits.claimsInMemory { try enter(owners.takeAll()) }
            case .partitionEnd(let partition, _):
                ends[partition] = nil
            case .trouble(let error) where !error.isRetriable:
                throw error
            case .trouble, nil:
                guard ContinuousClock.now - lastHeard < .seconds(PipelineLimits.publishedSilenceSeconds) else {
                    throw BlockingWork.TimedOut(seconds: PipelineLimits.publishedSilenceSeconds)
                }
            }
        }
        try enter(owners.takeAll())
    }

    /// Returns where each partition is read from, and where its log ends now. A partition with nothing to read is left out.
    private func stretches(
        since time: Timestamp, _ consumer: KafkaConsumer
    ) throws(KafkaError) -> (starts: [TopicPartition: Int64], ends: [TopicPartition: Int64]) {
        let known = try consumer.metadata(topic: topic, timeoutMilliseconds: Self.callMilliseconds)
        let partitions = (known.topics[topic] ?? []).map { TopicPartition(topic: topic, partition: $0) }
        let begins = try consumer.offsetsForTime(
            partitions, milliseconds: max(0, time.milliseconds), timeoutMilliseconds: Self.callMilliseconds)
        var starts: [TopicPartition: Int64] = [:]
        var ends: [TopicPartition: Int64] = [:]
        for partition in partitions {
            let (low, high) = try consumer.watermarks(partition, timeoutMilliseconds: Self.callMilliseconds)
            // The broker tells no offset if all records are older, or if it knows no times, as librdkafka's in-process one.
            let begin = begins[partition] ?? high - PipelineLimits.publishedTail
            guard max(low, begin) < high else { continue }
            starts[partition] = max(low, begin)
            ends[partition] = high
        }
        return (starts, ends)
    }

    /// Returns what a grant's event claims. Empty for all other records.
    static func claims(of record: ConsumerRecord) -> [PublishedClaim] {
        guard record.values(of: "ce_type").contains(kind), let value = record.value,
            let event = try? JSONParser.parse(value).value, let player = event["player_id"]?.string,
            let bundle = event["bundle_id"]?.string, let transaction = event["transaction_id"]?.string,
            let original = event["original_transaction_id"]?.string
        else { return [] }
        let period = record.values(of: OutcomeHeaders.period).first.map { String(decoding: $0, as: UTF8.self) }
        return PublishedClaim.claims(
            of: Identifier(transaction), under: Identifier(original), period: period.map { Identifier($0) },
            playerID: Identifier(player), bundleID: Identifier(bundle))
    }
}
