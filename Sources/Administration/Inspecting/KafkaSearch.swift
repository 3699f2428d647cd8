import AppleProofs
import Fulfillment
import Kafka
import NamesAndTimes
import ReceiptdConfiguration

/// Searches Kafka for an id that PostgreSQL may not know. Reads the submissions that workers may not have finished, and
/// the newest events. Stops at a number of records and at a time limit.
package struct KafkaSearch: Sendable {
    /// The default number of records to read in each partition. In the partitions of the players, the search reads ten
    /// times as many events.
    package static let defaultRecords = 50_000
    static let playerFactor = 10
    static let maximumFound = 100

    private let settings: KafkaSettings
    private let id: SearchedID
    private let records: Int
    private let seconds: Double

    /// - Parameters:
    ///   - records: the most records to read in each partition.
    ///   - seconds: the time limit of the whole search.
    package init(settings: KafkaSettings, id: SearchedID, records: Int, seconds: Double) {
        self.settings = settings
        self.id = id
        self.records = records
        self.seconds = seconds
    }

    /// Runs the search. It does not throw: a failure of Kafka is in the findings.
    /// - Parameters:
    ///   - isKnown: true if PostgreSQL knows the id. The search then reads events only in the players' partitions.
    ///   - players: the players in PostgreSQL's rows with this id.
    package func run(isKnown: Bool, players: [String]) async -> KafkaFindings {
        guard !settings.bootstrapServers.isEmpty else {
            var findings = KafkaFindings()
            findings.fault = "\(SettingName.kafkaBootstrapServers.rawValue) is not set"
            return findings
        }
        do {
            return try await blocking { search(isKnown: isKnown, players: players) }
        } catch {
            return KafkaFindings()
        }
    }

    private func search(isKnown: Bool, players: [String]) -> KafkaFindings {
        var findings = KafkaFindings()
        do throws(KafkaError) {
            var scan = try RecordScan(
                properties: KafkaClientProperties(settings: settings).consumer,
                deadline: ContinuousClock.now + .seconds(seconds))
            defer { scan.consumer.close() }
            try searchSubmissions(&scan, &findings)
            try searchEvents(&scan, isKnown: isKnown, players: players, &findings)
            if findings.looks.contains(where: { !$0.isComplete }) {
                findings.fault = "Kafka has more records than inspect searched (--records, --seconds)"
            }
        } catch {
            findings.fault = "Kafka at \(ShownText.plain(settings.bootstrapServers)): \(error)"
        }
        return findings
    }

    private func partitions(of topic: String, _ scan: RecordScan) throws(KafkaError) -> [TopicPartition] {
        let known = try scan.consumer.metadata(topic: topic, timeoutMilliseconds: scan.timeoutMilliseconds)
        return (known.topics[topic] ?? []).map { TopicPartition(topic: topic, partition: $0) }
    }

    /// Searches the submissions from the group's committed offset on. Workers are done with all earlier submissions:
    /// these are answered, parked or dead letters.
    private func searchSubmissions(_ scan: inout RecordScan, _ findings: inout KafkaFindings) throws(KafkaError) {
        let topic = settings.submissionsTopic
        let partitions = try partitions(of: topic, scan)
        let committed = try scan.consumer.committedMarks(partitions, timeoutMilliseconds: scan.timeoutMilliseconds)
        var stretches: [TopicPartition: RecordScan.Stretch] = [:]
        var ends: [TopicPartition: Int64] = [:]
        for partition in partitions {
            let (low, high) = try scan.consumer.watermarks(partition, timeoutMilliseconds: scan.timeoutMilliseconds)
            let start = min(high, max(low, committed[partition]?.offset ?? low))
            stretches[partition] = start..<min(high, start + Int64(records))
            ends[partition] = high
        }
        let starts = stretches
        var found: [KafkaFindings.Waiting] = []
        let before = scan.records
        let unread = try scan.read(stretches) { record in
            guard found.count < Self.maximumFound, let submission = id.submission(in: record) else { return }
            let start = starts[record.topicPartition]?.lowerBound ?? record.offset
            found.append(
                KafkaFindings.Waiting(
                    submissionID: submission.submissionID.text, playerID: submission.playerID.text,
                    bundleID: submission.bundleID.text, topic: topic, partition: record.topicPartition.partition,
                    offset: record.offset,
                    receivedAt: record.timestampMilliseconds.map { Timestamp(milliseconds: $0) },
                    ahead: record.offset - start, lag: (ends[record.topicPartition] ?? record.offset + 1) - start,
                    isKeyedByPlayer: record.key.map { $0.elementsEqual(submission.playerID.text.utf8) } ?? false,
                    ignored: submission.ignoredFields(in: record.value ?? [])))
        }
        findings.waiting = found
        findings.looks.append(
            KafkaFindings.Look(
                topic: topic, partitions: partitions.count, records: scan.records - before,
                isComplete: unread.isEmpty && stretches.allSatisfy { $0.value.upperBound == ends[$0.key] }))
    }

    /// Searches the newest events in the partitions of the known players, and in the partition to which the searched
    /// id would belong as a player id. Searches all other partitions only if nothing was found yet.
    private func searchEvents(
        _ scan: inout RecordScan, isKnown: Bool, players known: [String], _ findings: inout KafkaFindings
    ) throws(KafkaError) {
        let topic = settings.outcomesTopic
        let partitions = try partitions(of: topic, scan)
        guard !partitions.isEmpty else { return }
        let own = TopicPartition(topic: topic, partition: RecordPartition.of(id.key, count: partitions.count))
        // A waiting submission also names its player.
        let names = known + findings.waiting.map(\.playerID)
        let players = Set(names.map { RecordPartition.of(Array($0.utf8), count: partitions.count) })
        var first = Set(players.map { TopicPartition(topic: topic, partition: $0) })
        first.insert(own)
        try searchEvents(first, last: records * Self.playerFactor, &scan, &findings)
        let isFound = isKnown || !findings.waiting.isEmpty || !findings.answers.isEmpty
        if !isFound { try searchEvents(Set(partitions).subtracting(first), last: records, &scan, &findings) }
    }

    private func searchEvents(
        _ partitions: Set<TopicPartition>, last: Int, _ scan: inout RecordScan, _ findings: inout KafkaFindings
    ) throws(KafkaError) {
        var stretches: [TopicPartition: RecordScan.Stretch] = [:]
        var isWhole = true
        for partition in partitions {
            let (low, high) = try scan.consumer.watermarks(partition, timeoutMilliseconds: scan.timeoutMilliseconds)
            let start = max(low, high - Int64(last))
            isWhole = isWhole && start == low
            stretches[partition] = start..<high
        }
        var found: [KafkaFindings.Answer] = []
        let before = scan.records
        let unread = try scan.read(stretches) { record in
            guard let answer = id.answer(in: record) else { return }
            found.append(answer)
            if found.count > Self.maximumFound { found.removeFirst() }
        }
        // The outcomes topic may have an event more than once.
        var seen = Set(findings.answers.map(\.eventID))
        findings.answers += found.filter { seen.insert($0.eventID).inserted }
        findings.looks.append(
            KafkaFindings.Look(
                topic: settings.outcomesTopic, partitions: partitions.count, records: scan.records - before,
                isComplete: unread.isEmpty && (isWhole || !found.isEmpty)))
    }
}
