import Kafka
import Testing

/// The mock cluster takes 3 s for the first join of a group, and `session.timeout.ms` less 1 s for a later join.
@Suite("Kafka consumer groups", .serialized)
struct ConsumerGroupTests {

    /// The calls of the handlers, in order.
    private final class Journal {
        var assigned: [TopicPartition] = []
        var revoked: [TopicPartition] = []
        var wasLost = false
        var next: [TopicPartition: Int64] = [:]
    }

    @Test(
        "If a consumer's revoke handler commits an offset during close, the group's next member resumes at this offset",
        arguments: ["range", "cooperative-sticky"])
    func resume(assignor: String) async throws {
        let cluster = try MockCluster(topics: ["t": 1])
        let producer = try KafkaProducer(properties: properties(cluster), log: quiet)
        try await producer.sendNumbers(10, topic: "t")
        let settings = consumerProperties(cluster, ["partition.assignment.strategy": assignor])
        let partition = TopicPartition(topic: "t", partition: 0)
        try await blocking {
            defer { cluster.close() }
            producer.close()
            let first = try KafkaConsumer(properties: settings, log: quiet)
            let journal = Journal()
            let handlers = KafkaConsumer.Rebalance(
                assigned: { partitions in
                    journal.assigned += partitions
                    return [:]
                },
                revoked: { [unowned first] partitions, lost in
                    journal.revoked += partitions
                    journal.wasLost = lost
                    #expect(throws: Never.self) {
                        try first.commit(journal.next.mapValues { CommitMark(offset: $0) }, timeoutMilliseconds: 10_000)
                    }
                })
            try first.subscribe(["t"], rebalance: handlers)
            for record in try first.nextRecords(4).prefix(4) {
                journal.next[record.topicPartition] = record.offset + 1
            }
            #expect(journal.assigned == [partition])
            #expect(first.memberID != nil)
            #expect(journal.revoked.isEmpty)
            first.close()
            #expect(journal.revoked == [partition])
            #expect(!journal.wasLost)

            let second = try KafkaConsumer(properties: settings, log: quiet)
            defer { second.close() }
            try second.subscribe(["t"], rebalance: KafkaConsumer.Rebalance())
            #expect(try second.nextRecords(6).compactMap(\.text) == (4..<10).map(String.init))
        }
    }

    @Test(
        "A consumer starts at its assign handler's offset, and loses its partitions after an ILLEGAL_GENERATION commit")
    func overrideAndFence() async throws {
        let cluster = try MockCluster(topics: ["t": 2])
        let producer = try KafkaProducer(properties: properties(cluster), log: quiet)
        try await producer.sendNumbers(10, topic: "t")
        let partition = TopicPartition(topic: "t", partition: 0)
        try await blocking {
            defer { cluster.close() }
            producer.close()
            let consumer = try KafkaConsumer(properties: consumerProperties(cluster), log: quiet)
            defer { consumer.close() }
            try consumer.commit([partition: CommitMark(offset: 2)], timeoutMilliseconds: 10_000)
            let journal = Journal()
            let handlers = KafkaConsumer.Rebalance(
                assigned: { partitions in
                    journal.assigned += partitions
                    return [partition: 8]
                },
                revoked: { partitions, lost in
                    journal.revoked += partitions
                    journal.wasLost = lost
                })
            try consumer.subscribe(["t"], rebalance: handlers)
            #expect(try consumer.nextRecords(2).compactMap(\.text) == ["8", "9"])
            #expect(journal.assigned.sorted() == [partition, TopicPartition(topic: "t", partition: 1)])

            cluster.pushRequestErrors(apiKey: 8, [KafkaError.Code.illegalGeneration])
            let error = #expect(throws: KafkaError.self) {
                try consumer.commit([partition: CommitMark(offset: 10)], timeoutMilliseconds: 10_000)
            }
            #expect(error?.name == "ILLEGAL_GENERATION")
            try consumer.poll { _ in journal.revoked.isEmpty ? nil : () }
            #expect(journal.wasLost)
        }
    }

    @Test("A consumer that is deallocated without a close calls no rebalance handler and commits no offset")
    func dropped() async throws {
        let cluster = try MockCluster(topics: ["t": 1])
        let producer = try KafkaProducer(properties: properties(cluster), log: quiet)
        try await producer.sendNumbers(3, topic: "t")
        try await blocking {
            defer { cluster.close() }
            producer.close()
            do {
                let member = try KafkaConsumer(properties: consumerProperties(cluster), log: quiet)
                let handlers = KafkaConsumer.Rebalance(revoked: { _, _ in Issue.record("called by deinit") })
                try member.subscribe(["t"], rebalance: handlers)
                _ = try member.nextRecords(2)
            }
            let other = try KafkaConsumer(properties: consumerProperties(cluster), log: quiet)
            defer { other.close() }
            let partition = TopicPartition(topic: "t", partition: 0)
            #expect(try other.committed([partition], timeoutMilliseconds: 10_000).isEmpty)
        }
    }

    @Test(
        "If the broker is unreachable, close(withinSeconds:) returns, and does not call the consumer's revoke handler",
        .timeLimit(.minutes(1)))
    func closeWithoutBroker() async throws {
        let cluster = try MockCluster(topics: ["t": 1])
        let producer = try KafkaProducer(properties: properties(cluster), log: quiet)
        try await producer.sendNumbers(2, topic: "t")
        let settings = consumerProperties(cluster, ["session.timeout.ms": "60000"])
        try await blocking {
            defer { cluster.close() }
            producer.close()
            let member = try KafkaConsumer(properties: settings, log: quiet)
            let handlers = KafkaConsumer.Rebalance(revoked: { _, _ in Issue.record("called by close") })
            try member.subscribe(["t"], rebalance: handlers)
            _ = try member.nextRecords(2)
            cluster.setBrokerDown(1)
            // librdkafka's own close waits for the answer to this commit, at most for the session time-out.
            #expect(throws: KafkaError.self) {
                let partition = TopicPartition(topic: "t", partition: 0)
                try member.commit([partition: CommitMark(offset: 2)], timeoutMilliseconds: 500)
            }
            member.close(withinSeconds: 0.5)
            #expect(member.poll(timeoutMilliseconds: 0) == nil)
            cluster.setBrokerUp(1)
        }
    }
}
