import Kafka
import ReceiptdConfiguration

/// Checks that Kafka lets a worker read, write and commit offsets. Its requests change nothing in Kafka.
package struct KafkaCheck: Sendable {
    private static let answerMilliseconds: Int32 = 10_000
    /// The time limit of one try to read committed offsets. After each try the client's events may show why there is no
    /// reply.
    private static let questionMilliseconds: Int32 = 1_000
    /// The time limit of the request for the topics' `cleanup.policy`. A broker without a controller never replies to
    /// this request.
    private static let configurationMilliseconds: Int32 = 3_000
    /// The time limit for the replies to the first fetch from every partition.
    private static let fetchSeconds = 10.0

    package let kafka: KafkaSettings

    package init(kafka: KafkaSettings) {
        self.kafka = kafka
    }

    /// Returns one line if there is no fault, otherwise one line for each fault.
    package func results() async -> [Result<String, CheckFailure>] {
        do {
            return try await blocking { try ask() }
        } catch {
            return [.failure(CheckFailure(error))]
        }
    }

    private func ask() throws -> [Result<String, CheckFailure>] {
        let recorder = TroubleRecorder()
        let clients = KafkaClientProperties(settings: kafka)
        var properties = clients.consumer
        properties["enable.partition.eof"] = "true"
        let consumer = try KafkaConsumer(properties: properties, log: recorder.note)
        defer { consumer.close() }
        let cluster = try KafkaClusterMetadata.reach(recorder) { milliseconds in
            try consumer.metadata(timeoutMilliseconds: milliseconds)
        }
        var faults: [String] = []
        var notes: [String] = []
        var partitions: [String: [TopicPartition]] = [:]
        let needed = [kafka.submissionsTopic, kafka.outcomesTopic, kafka.deadLettersTopic]
        for topic in needed + [kafka.notificationsTopic, kafka.accountsTopic, kafka.consumptionTopic] {
            do throws(KafkaError) {
                let found = try consumer.metadata(topic: topic, timeoutMilliseconds: Self.answerMilliseconds)
                partitions[topic] = (found.topics[topic] ?? []).map { TopicPartition(topic: topic, partition: $0) }
            } catch {
                let isMissing = Self.missing.contains(error.code)
                if isMissing, !needed.contains(topic) {
                    if topic == kafka.notificationsTopic {
                        notes.append("there is no topic \(topic): receiptd gets no notification of a refund")
                    }
                } else {
                    faults.append(isMissing ? "topic \(topic) is missing" : "topic \(topic): \(Self.words(error))")
                }
            }
        }
        // A worker reads the outcomes topic only after a restore of the database, and joins no group for it. So the
        // check looks for no offsets of this topic.
        if let partitions = partitions[kafka.outcomesTopic], let fault = try read(partitions, with: consumer) {
            faults.append("topic \(kafka.outcomesTopic): \(fault)")
        }
        for (topic, group) in [
            (kafka.submissionsTopic, kafka.groupID), (kafka.notificationsTopic, kafka.notificationsGroupID),
            (kafka.accountsTopic, kafka.accountsGroupID), (kafka.consumptionTopic, kafka.consumptionGroupID),
        ] {
            guard let partitions = partitions[topic] else { continue }
            if let fault = try read(partitions, with: consumer) { faults.append("topic \(topic): \(fault)") }
            var member = properties
            member["group.id"] = group
            switch offsets(partitions, group: group, member, recorder) {
            case .success(let count):
                if topic == kafka.submissionsTopic { notes.append("group \(group) has offsets of \(count) partitions") }
            case .failure(let failure): faults.append(failure.message)
            }
        }
        let policies = cleanupPolicies(Array(partitions.keys), properties)
        faults += Self.compacted(policies.found, kafka)
        if let why = policies.unknown { notes.append("cleanup.policy cannot be read (\(why))") }
        if let fault = try writing(clients.producer, recorder) { faults.append(fault) }
        guard faults.isEmpty else { return faults.map { .failure(CheckFailure($0)) } }
        let what = ["\(cluster.brokers.count) brokers, all topics exist"] + notes
        return [.success(what.joined(separator: "; "))]
    }

    /// Fetches the last record of each partition without joining a group, because only a fetch shows that the client
    /// may read. Returns the fault; nil if there is none.
    private func read(_ partitions: [TopicPartition], with consumer: KafkaConsumer) throws -> String? {
        try consumer.assign(Dictionary(uniqueKeysWithValues: partitions.map { ($0, KafkaConsumer.lastRecord) }))
        defer { try? consumer.assign([:]) }
        var left = Set(partitions)
        let deadline = ContinuousClock.now + .seconds(Self.fetchSeconds)
        while !left.isEmpty {
            guard ContinuousClock.now < deadline else { return "the broker does not answer a fetch" }
            switch consumer.poll(timeoutMilliseconds: 100) {
            case .record(let record): left.remove(record.topicPartition)
            case .partitionEnd(let partition, _): left.remove(partition)
            case .trouble(let error) where error.isUnreadableBatch:
                if let place = error.place { left.remove(place.topicPartition) }
            // This error is about the group and not about the topic. Another line of the check reports the error.
            case .trouble(let error) where error.code == KafkaError.Code.groupAuthorizationFailed: continue
            case .trouble(let error) where Self.forbidden.contains(error.code): return "reading is not allowed"
            case .trouble(let error) where error.isFatal: throw error
            case .trouble, nil: continue
            }
        }
        return nil
    }

    /// Reads the group's committed offsets, commits them unchanged, and returns their number. A group with members
    /// refuses the commit of a client that is no member. Such a refusal is no fault, because the broker has checked the
    /// client's right to the group before.
    private func offsets(
        _ partitions: [TopicPartition], group: String, _ properties: KafkaProperties, _ recorder: TroubleRecorder
    ) -> Result<Int, CheckFailure> {
        do throws(KafkaError) {
            let member = try KafkaConsumer(properties: properties, log: recorder.note)
            defer { member.close() }
            let marks = try Self.marks(of: partitions, by: member)
            do throws(KafkaError) {
                try member.commit(marks, timeoutMilliseconds: Self.answerMilliseconds)
            } catch {
                guard Self.groupHasMembers.contains(error.code) else { throw error }
            }
            return .success(marks.count)
        } catch {
            return .failure(CheckFailure("group \(group): \(Self.words(error))"))
        }
    }

    /// Reads committed offsets. A client without the right to the group never finds the group's broker. librdkafka then
    /// gives the reason only as an event of `poll`.
    private static func marks(
        of partitions: [TopicPartition], by member: KafkaConsumer
    ) throws(KafkaError) -> [TopicPartition: CommitMark] {
        var left = answerMilliseconds
        while true {
            do throws(KafkaError) {
                return try member.committedMarks(partitions, timeoutMilliseconds: questionMilliseconds)
            } catch {
                left -= questionMilliseconds
                while let event = member.poll(timeoutMilliseconds: 0) {
                    if case .trouble(let told) = event, forbidden.contains(told.code) { throw told }
                }
                guard left > 0, error.isRetriable else { throw error }
            }
        }
    }

    /// Returns the reason why the client may not write; nil if the client may. An idempotent producer first asks Kafka
    /// for its producer id, and gets none if it may write to no topic.
    private func writing(_ properties: KafkaProperties, _ recorder: TroubleRecorder) throws -> String? {
        let producer = try KafkaProducer(properties: properties, log: recorder.note)
        defer { producer.close() }
        _ = try producer.metadata(timeoutMilliseconds: Self.answerMilliseconds)
        guard let error = producer.fatalError else { return nil }
        return "writing: \(Self.words(error))"
    }

    private func cleanupPolicies(
        _ topics: [String], _ properties: KafkaProperties
    ) -> (found: [String: String], unknown: String?) {
        do throws(KafkaError) {
            let found = try TopicAdministration.configuration(
                "cleanup.policy", of: topics, properties: properties,
                timeoutMilliseconds: Self.configurationMilliseconds)
            return (found, nil)
        } catch {
            return ([:], error.name)
        }
    }

    /// Returns a fault for each topic that Kafka compacts. Compaction keeps only the newest record of each key. The key
    /// of submissions and events is the player id, so a player's older records would be lost. The topic of players'
    /// accounts has another key, and may be compacted.
    static func compacted(_ policies: [String: String], _ kafka: KafkaSettings) -> [String] {
        policies.sorted { $0.key < $1.key }.filter { topic, policy in
            topic != kafka.accountsTopic && policy.contains("compact")
        }.map { topic, policy in
            "topic \(topic) is compacted (cleanup.policy=\(policy)): Kafka deletes the older records of "
                + "a key, so set cleanup.policy=delete"
        }
    }

    private static let missing: Set<Int32> = [
        KafkaError.Code.unknownTopicOrPartition, KafkaError.Code.unknownTopic, KafkaError.Code.unknownPartition,
    ]
    private static let forbidden: Set<Int32> = [
        KafkaError.Code.topicAuthorizationFailed, KafkaError.Code.groupAuthorizationFailed,
        KafkaError.Code.clusterAuthorizationFailed,
    ]
    private static let groupHasMembers: Set<Int32> = [
        KafkaError.Code.unknownMemberID, KafkaError.Code.illegalGeneration, KafkaError.Code.rebalanceInProgress,
        KafkaError.Code.fencedInstanceID,
    ]

    private static func words(_ error: KafkaError) -> String {
        if forbidden.contains(error.code) { return "not allowed (\(error.name))" }
        if missing.contains(error.code) { return "missing" }
        return error.message
    }
}
