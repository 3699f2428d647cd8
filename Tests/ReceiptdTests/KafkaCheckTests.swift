import Kafka
import Testing

@testable import Administration
@testable import ReceiptdConfiguration

@Suite("The checks of Kafka by `receiptd check`")
struct KafkaCheckTests {
    private let cluster: MockCluster
    private let kafka: KafkaSettings

    init() throws {
        cluster = try MockCluster(topics: [
            "receipt-submissions": 2, "receipt-outcomes": 1, "receipt-dead-letters": 1, "app-store-notifications": 1,
        ])
        var kafka = KafkaSettings()
        kafka.bootstrapServers = cluster.bootstrapServers
        self.kafka = kafka
    }

    private func faults() async -> [String] {
        await KafkaCheck(kafka: kafka).results().compactMap { result in
            if case .failure(let failure) = result { failure.message } else { nil }
        }
    }

    @Test("if every Kafka topic exists and is readable, `receiptd check` reports no fault of Kafka")
    func well() async throws {
        #expect(await faults() == [])
    }

    @Test("`receiptd check` distinguishes a missing Kafka topic from a forbidden topic")
    func topics() async throws {
        cluster.setTopicError("receipt-outcomes", KafkaError.Code.unknownTopicOrPartition)
        cluster.setTopicError("receipt-dead-letters", KafkaError.Code.topicAuthorizationFailed)
        #expect(
            await faults() == [
                "topic receipt-outcomes is missing",
                "topic receipt-dead-letters: not allowed (TOPIC_AUTHORIZATION_FAILED)",
            ])
    }

    @Test("if Kafka forbids reading the submissions or outcomes topic, `receiptd check` reports a fault of the topic")
    func reading() async throws {
        let fetch: Int16 = 1
        let properties = KafkaClientProperties(settings: kafka).producer
        for topic in [kafka.submissionsTopic, kafka.notificationsTopic, kafka.outcomesTopic] {
            let producer = try KafkaProducer(properties: properties, log: { _ in })
            _ = try await producer.send(ProducerRecord(topic: topic, partition: 0, value: [1]))
            try await blocking { producer.close() }
        }
        cluster.pushRequestErrors(
            apiKey: fetch, Array(repeating: KafkaError.Code.topicAuthorizationFailed, count: 100))
        let faults = await faults()
        // A worker reads the submissions, and reads its own events after a restore of the database.
        for topic in [kafka.submissionsTopic, kafka.outcomesTopic] {
            #expect(faults.contains("topic \(topic): reading is not allowed"))
        }
    }

    @Test("`receiptd check` names a consumer group whose offsets it may not read or commit, and changes no offset")
    func group() async throws {
        let offsetFetch: Int16 = 9
        let offsetCommit: Int16 = 8
        cluster.pushRequestErrors(apiKey: offsetFetch, [KafkaError.Code.groupAuthorizationFailed])
        #expect(await faults() == ["group receiptd: not allowed (GROUP_AUTHORIZATION_FAILED)"])
        let properties = KafkaClientProperties(settings: kafka).consumer
        let partition = TopicPartition(topic: "receipt-submissions", partition: 1)
        try await blocking {
            let consumer = try KafkaConsumer(properties: properties, log: { _ in })
            defer { consumer.close() }
            try consumer.commit([partition: CommitMark(offset: 7, metadata: "kept")], timeoutMilliseconds: 10_000)
        }
        cluster.pushRequestErrors(apiKey: offsetCommit, [KafkaError.Code.groupAuthorizationFailed])
        #expect(await faults() == ["group receiptd: not allowed (GROUP_AUTHORIZATION_FAILED)"])
        // The check commits too, and must leave the group's committed offset as it is.
        #expect(await faults() == [])
        let marks = try await blocking {
            let consumer = try KafkaConsumer(properties: properties, log: { _ in })
            defer { consumer.close() }
            return try consumer.committedMarks([partition], timeoutMilliseconds: 10_000)
        }
        #expect(marks == [partition: CommitMark(offset: 7, metadata: "kept")])
    }

    @Test(
        "if Kafka forbids the look-up of coordinators, `receiptd check` reports a fault for each group and for no topic"
    )
    func groupUnseen() async throws {
        let findCoordinator: Int16 = 10
        cluster.pushRequestErrors(
            apiKey: findCoordinator, Array(repeating: KafkaError.Code.groupAuthorizationFailed, count: 1_000))
        // The mock cluster creates the optional topics when the check asks for them, so the check looks at their groups
        // too.
        let groups = [kafka.groupID, kafka.notificationsGroupID, kafka.accountsGroupID, kafka.consumptionGroupID]
        #expect(await faults() == groups.map { "group \($0): not allowed (GROUP_AUTHORIZATION_FAILED)" })
    }

    @Test("`receiptd check` reports a compacted outcomes or dead-letter topic as a fault")
    func compacted() {
        let faults = KafkaCheck.compacted(
            ["receipt-outcomes": "compact", "receipt-dead-letters": "compact,delete", "receipt-submissions": "delete"],
            kafka)
        #expect(faults.count == 2)
        #expect(faults[0].hasPrefix("topic receipt-dead-letters is compacted (cleanup.policy=compact,delete)"))
    }

    @Test("if a broker is out of reach, `receiptd check` reports the broker's address and the system's message")
    func away() async throws {
        var kafka = kafka
        kafka.bootstrapServers = "127.0.0.1:1"
        kafka.properties["socket.connection.setup.timeout.ms"] = "1000"
        guard case .failure(let failure)? = await KafkaCheck(kafka: kafka).results().first else {
            Issue.record("it was reached")
            return
        }
        #expect(failure.code == CommandFailure.unavailable)
        #expect(failure.message.contains("127.0.0.1:1") && failure.message.contains("refused"), "\(failure.message)")
    }
}
