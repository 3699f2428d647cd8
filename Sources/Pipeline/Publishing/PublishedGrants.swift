import Encodings
import Fulfillment
import Kafka
import NamesAndTimes

/// Reads events of grants, subscriptions and refund requests from the outcomes topic, without joining a group. The
/// calls block.
struct PublishedGrants: Sendable {
    private static let callMilliseconds: Int32 = 10_000
    private static let pollMilliseconds: Int32 = 200
    private static let kind = Array(OutcomeEvent.Kind.granted.rawValue.utf8)
    private static let grantKinds = [OutcomeEvent.Kind.granted, .revoked, .reinstated].map { Array($0.rawValue.utf8) }
    private static let requestKind = Array(OutcomeEvent.Kind.refundRequested.rawValue.utf8)
    private static let subscriptionKind = Array(OutcomeEvent.Kind.subscriptionChanged.rawValue.utf8)

    let topic: String
    let properties: KafkaProperties
    let log: @Sendable (KafkaLogLine) -> Void

    /// The owners of original transactions and periods. The latest owner counts, because an operator may transfer a
    /// subscription. Among one owner's events, the earliest event counts.
    struct Owners {
        private var found: [StoreTransactionID: (claim: PublishedClaim, at: Int64)] = [:]

        var count: Int { found.count }

        mutating func add(_ claim: PublishedClaim, at time: Int64) {
            if let known = found[claim.id] {
                let isKept = known.claim.playerID == claim.playerID || claim.isOfRefundRequest
                if isKept ? known.at <= time : known.at > time { return }
            }
            found[claim.id] = (claim, time)
        }

        /// Returns the collected entries, sorted by id, and removes them.
        mutating func takeAll() -> [PublishedClaim] {
            defer { found.removeAll() }
            return found.values.map(\.claim).sorted { $0.id < $1.id }
        }
    }

    /// The highest revision of each subscription.
    struct Subscriptions {
        private var found: [StoreTransactionID: PublishedRevision] = [:]

        var count: Int { found.count }

        mutating func add(_ published: PublishedRevision) {
            if let known = found[published.id], known.revision >= published.revision { return }
            found[published.id] = published
        }

        /// Returns the collected entries, sorted by id, and removes them.
        mutating func takeAll() -> [PublishedRevision] {
            defer { found.removeAll() }
            return found.values.sorted { $0.id < $1.id }
        }
    }

    /// Reads the topic from `time` to its present end. Throws a `KafkaError`, the errors of `enter`, and
    /// `BlockingWork.TimedOut` if Kafka sends nothing for a while.
    /// - Parameters:
    ///   - isCancelled: called from time to time. If it returns true, `read` throws a `CancellationError`.
    ///   - enter: called with batches of owners and of subscriptions' revisions. `PipelineLimits.claimsInMemory` limits
    ///     the size of a batch. If an id comes again in a later batch, the owner from the earlier batch counts.
    func read(
        since time: Timestamp, isCancelled: () -> Bool,
        _ enter: (_ owners: [PublishedClaim], _ subscriptions: [PublishedRevision]) throws -> Void
    ) throws {
        var owners = Owners()
        var subscriptions = Subscriptions()
        let own = { (record: ConsumerRecord) in
            for claim in Self.claims(of: record) { owners.add(claim, at: record.timestampMilliseconds ?? 0) }
            if let revision = Self.revision(of: record, [Self.subscriptionKind]) { subscriptions.add(revision) }
            if owners.count + subscriptions.count >= PipelineLimits.claimsInMemory {
                try enter(owners.takeAll(), subscriptions.takeAll())
            }
        }
        try read({ try stretches(since: time, $0) }, isCancelled: isCancelled, own)
        try enter(owners.takeAll(), subscriptions.takeAll())
    }

    /// Returns the revisions of grants and subscriptions in the last records of each partition. Throws as
    /// `read(since:)` does.
    func last(isCancelled: () -> Bool) throws -> [PublishedRevision] {
        var found: [PublishedRevision] = []
        let find = { (record: ConsumerRecord) in
            if let revision = Self.revision(of: record, Self.grantKinds + [Self.subscriptionKind]) {
                found.append(revision)
            }
        }
        try read({ try tails(of: PipelineLimits.publishedWitnesses, $0) }, isCancelled: isCancelled, find)
        return found
    }

    private typealias Stretches = (starts: [TopicPartition: Int64], ends: [TopicPartition: Int64])

    private func read(
        _ stretches: (KafkaConsumer) throws -> Stretches, isCancelled: () -> Bool,
        _ body: (ConsumerRecord) throws -> Void
    ) throws {
        var properties = properties
        properties["enable.partition.eof"] = "true"
        let consumer = try KafkaConsumer(properties: properties, log: log)
        defer { consumer.close(withinSeconds: 3) }
        let (starts, open) = try stretches(consumer)
        if !starts.isEmpty { try consumer.assign(starts) }
        var ends = open
        var lastHeard = ContinuousClock.now
        while !ends.isEmpty {
            if isCancelled() { throw CancellationError() }
            switch consumer.poll(timeoutMilliseconds: Self.pollMilliseconds) {
            case .record(let record):
                lastHeard = .now
                guard let end = ends[record.topicPartition] else { continue }
                if record.offset < end { try body(record) }
                if record.offset >= end - 1 { ends[record.topicPartition] = nil }
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
    }

    private func partitions(_ consumer: KafkaConsumer) throws(KafkaError) -> [TopicPartition] {
        let known = try consumer.metadata(topic: topic, timeoutMilliseconds: Self.callMilliseconds)
        return (known.topics[topic] ?? []).map { TopicPartition(topic: topic, partition: $0) }
    }

    /// Returns the last records of each partition, at most `count`, as a range of offsets. A partition that is empty,
    /// or for which no broker answers, has no entry.
    private func tails(of count: Int64, _ consumer: KafkaConsumer) throws(KafkaError) -> Stretches {
        let partitions = try partitions(consumer)
        guard !partitions.isEmpty else { return ([:], [:]) }
        let marks = try consumer.watermarks(partitions, timeoutMilliseconds: Self.callMilliseconds).filter {
            $0.value.low < $0.value.high
        }
        return (marks.mapValues { max($0.low, $0.high - count) }, marks.mapValues(\.high))
    }

    /// Returns the offset from which to read each partition, and the present end of its log. A partition with nothing
    /// to read has no entry.
    private func stretches(
        since time: Timestamp, _ consumer: KafkaConsumer
    ) throws(KafkaError) -> Stretches {
        let partitions = try partitions(consumer)
        let begins = try consumer.offsetsForTime(
            partitions, milliseconds: max(0, time.milliseconds), timeoutMilliseconds: Self.callMilliseconds)
        var starts: [TopicPartition: Int64] = [:]
        var ends: [TopicPartition: Int64] = [:]
        for partition in partitions {
            let (low, high) = try consumer.watermarks(partition, timeoutMilliseconds: Self.callMilliseconds)
            // A broker returns no offset if all records are older. librdkafka's in-process broker never returns an
            // offset for a time.
            let begin = begins[partition] ?? high - PipelineLimits.publishedTail
            guard max(low, begin) < high else { continue }
            starts[partition] = max(low, begin)
            ends[partition] = high
        }
        return (starts, ends)
    }

    /// Returns the claims of a grant's event or of a refund request's event; empty for another record.
    static func claims(of record: ConsumerRecord) -> [PublishedClaim] {
        let kinds = record.values(of: "ce_type")
        guard kinds.contains(kind) || kinds.contains(requestKind), let value = record.value,
            let event = try? JSONParser.parse(value).value, let player = event["player_id"]?.string,
            let bundle = event["bundle_id"]?.string, let transaction = event["transaction_id"]?.string,
            let original = event["original_transaction_id"]?.string
        else { return [] }
        if kinds.contains(requestKind) {
            let claim = event["event_id"]?.string.map {
                PublishedClaim.refundRequest(
                    event: $0, of: Identifier(transaction), playerID: Identifier(player), bundleID: Identifier(bundle))
            }
            return claim.map { [$0] } ?? []
        }
        let period = record.values(of: OutcomeHeaders.period).first.map { String(decoding: $0, as: UTF8.self) }
        return PublishedClaim.claims(
            of: Identifier(transaction), under: Identifier(original), period: period.map { Identifier($0) },
            playerID: Identifier(player), bundleID: Identifier(bundle))
    }

    /// Returns the event's revision; nil for an event of another kind. If the database lacks this revision, it fell
    /// back.
    private static func revision(of record: ConsumerRecord, _ wanted: [[UInt8]]) -> PublishedRevision? {
        let kinds = record.values(of: "ce_type")
        let isOfSubscription = kinds.contains(subscriptionKind)
        guard kinds.contains(where: wanted.contains), let value = record.value,
            let event = try? JSONParser.parse(value).value,
            let id = event[isOfSubscription ? "original_transaction_id" : "transaction_id"]?.string
        else { return nil }
        var revision: Int32?
        if case .number(let digits) = event["revision"] { revision = Int32(digits) }
        // An event without a revision is from an older version, and is about a grant.
        return PublishedRevision(
            isOfSubscription ? .subscription : .grant, Identifier(id), revision: revision ?? 1,
            at: Timestamp(milliseconds: record.timestampMilliseconds ?? 0))
    }
}
