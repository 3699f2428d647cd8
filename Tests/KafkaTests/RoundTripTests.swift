import Kafka
import Testing

@Suite("Round trips between the Kafka clients and a broker", .serialized)
struct RoundTripTests {
    @Test("The consumer reads key, value, headers and timestamp as they were sent, and distinguishes null from empty")
    func everyField() async throws {
        let cluster = try MockCluster(topics: ["t": 2])
        let producer = try KafkaProducer(properties: properties(cluster), log: quiet)
        let sent = [
            ProducerRecord(
                topic: "t", partition: 1, key: [1, 0, 2], value: [0, 255, 0],
                headers: [
                    KafkaHeader(name: "text", value: [65]), KafkaHeader(name: "null", value: nil),
                    KafkaHeader(name: "empty", value: []), KafkaHeader(name: "text", value: [0, 66]),
                ],
                timestampMilliseconds: 1_600_000_000_123),
            ProducerRecord(topic: "t", partition: 1, key: nil, value: nil, timestampMilliseconds: 1),
            ProducerRecord(topic: "t", partition: 1, key: [], value: [], timestampMilliseconds: 2),
            ProducerRecord(topic: "t", partition: 1, key: [7], value: nil, timestampMilliseconds: 3),
        ]
        for (index, record) in sent.enumerated() {
            let delivery = try await producer.send(record)
            #expect(delivery == Delivery(topicPartition: .init(topic: "t", partition: 1), offset: Int64(index)))
        }
        let read = try await blocking { [sent] in
            defer { cluster.close() }
            producer.close()
            let consumer = try KafkaConsumer(properties: consumerProperties(cluster), log: quiet)
            defer { consumer.close() }
            try consumer.assign([TopicPartition(topic: "t", partition: 1): -2])
            return try consumer.nextRecords(sent.count)
        }
        for (index, (read, sent)) in zip(read, sent).enumerated() {
            #expect(read.topicPartition == TopicPartition(topic: "t", partition: 1))
            #expect(read.offset == Int64(index))
            #expect(read.timestampMilliseconds == sent.timestampMilliseconds)
            #expect(read.key == sent.key)
            #expect(read.value == sent.value)
            #expect(read.headers == sent.headers)
        }
    }

    @Test("The topic reader returns all records of a topic, partition after partition, and none if the topic is empty")
    func topicReader() async throws {
        let cluster = try MockCluster(topics: ["t": 3, "empty": 2])
        let producer = try KafkaProducer(properties: properties(cluster), log: quiet)
        for number in 0..<30 {
            let record = ProducerRecord(topic: "t", partition: Int32(number % 3), value: [UInt8(number)])
            _ = try await producer.send(record)
        }
        let (full, empty) = try await blocking {
            defer { cluster.close() }
            producer.close()
            let read = {
                try TopicReader.readAll(topic: $0, properties: properties(cluster), timeoutMilliseconds: 20_000)
            }
            return (try read("t"), try read("empty"))
        }
        let partitions: [Int32] = (0..<30).map { Int32($0 / 10) }
        let values: [UInt8] = (0..<30).map { UInt8($0 % 10 * 3 + $0 / 10) }
        #expect(full.map(\.topicPartition.partition) == partitions)
        #expect(full.compactMap { $0.value?.first } == values)
        #expect(empty.isEmpty)
    }

    /// The hashes are those of Java's `Utils.murmur2`, as librdkafka's own unit tests list them (rdmurmur2.c).
    private static let javaHashes: [(key: String, hash: UInt32)] = [
        ("kafka", 0xd067_cf64), ("giberish123456789", 0x8f55_2b0c), ("1234", 0x9fc9_7b14), ("234", 0xe7c0_09ca),
        ("34", 0x8739_30da), ("4", 0x5a4b_5ca1),
    ]

    @Test("With murmur2_random, the producer sends a key to the same partition as a Java client does")
    func partitioner() async throws {
        let cluster = try MockCluster(topics: ["t": 12])
        let producer = try KafkaProducer(properties: properties(cluster, ["partitioner": "murmur2_random"]), log: quiet)
        let keys = Self.javaHashes.map { [UInt8]($0.key.utf8) } + (0..<50).map { [UInt8]("key \($0)".utf8) }
        #expect(keys.prefix(Self.javaHashes.count).map(murmur2) == Self.javaHashes.map(\.hash))
        for key in keys {
            let delivery = try await producer.send(ProducerRecord(topic: "t", key: key, value: [1]))
            #expect(delivery.topicPartition.partition == Int32((murmur2(key) & 0x7fff_ffff) % 12))
        }
        try await blocking {
            producer.close()
            cluster.close()
        }
    }

    /// Returns the hash of Java's `org.apache.kafka.common.utils.Utils.murmur2`.
    private func murmur2(_ data: [UInt8]) -> UInt32 {
        let m: UInt32 = 0x5bd1_e995
        var h: UInt32 = 0x9747_b28c ^ UInt32(data.count)
        for start in stride(from: 0, to: data.count / 4 * 4, by: 4) {
            var k = (0..<4).reduce(UInt32(0)) { $0 | UInt32(data[start + $1]) << (8 * UInt32($1)) } &* m
            k ^= k >> 24
            h = (h &* m) ^ (k &* m)
        }
        let tail = data[(data.count / 4 * 4)...]
        if !tail.isEmpty {
            for (index, byte) in tail.enumerated() { h ^= UInt32(byte) << (8 * UInt32(index)) }
            h = h &* m
        }
        h = (h ^ (h >> 13)) &* m
        return h ^ (h >> 15)
    }

    @Test("A metadata request returns brokers and partitions, and throws for a topic that the broker refuses")
    func metadata() async throws {
        let cluster = try MockCluster(brokerCount: 2, topics: ["t": 3])
        try await blocking {
            defer { cluster.close() }
            let producer = try KafkaProducer(properties: properties(cluster), log: quiet)
            defer { producer.close() }
            let all = try producer.metadata(timeoutMilliseconds: 10_000)
            #expect(all.brokers.count == 2)
            #expect(Set(all.brokers) == Set(cluster.bootstrapServers.split(separator: ",").map(String.init)))
            #expect(all.topics["t"] == [0, 1, 2])
            #expect(try producer.metadata(topic: "t", timeoutMilliseconds: 10_000).topics == ["t": [0, 1, 2]])
            cluster.setTopicError("t", KafkaError.Code.topicAuthorizationFailed)
            let error = #expect(throws: KafkaError.self) {
                try producer.metadata(topic: "t", timeoutMilliseconds: 10_000)
            }
            #expect(error?.code == KafkaError.Code.topicAuthorizationFailed)
            #expect(try producer.metadata(timeoutMilliseconds: 10_000).topics["t"] == nil)
        }
    }
}
