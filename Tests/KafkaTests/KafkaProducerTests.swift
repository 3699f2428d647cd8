import Kafka
import Testing

@Suite("Kafka producer", .serialized)
struct KafkaProducerTests {
    @Test("If four tasks produce simultaneously, the producer reports each record's delivery exactly once")
    func reportedOnce() async throws {
        let cluster = try MockCluster(topics: ["t": 4])
        let producer = try KafkaProducer(properties: properties(cluster, ["linger.ms": "5"]), log: quiet)
        let reports = Shared([Int](repeating: 0, count: 4_000))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for start in stride(from: 0, to: 4_000, by: 1_000) {
                group.addTask {
                    for number in start..<(start + 1_000) {
                        let record = ProducerRecord(topic: "t", key: [UInt8](String(number).utf8), value: [1])
                        try producer.produce(record) { result in
                            if case .success = result { reports.update { $0[number] += 1 } }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        try await blocking {
            #expect(producer.flush(timeoutMilliseconds: 10_000))
            #expect(reports.value.allSatisfy { $0 == 1 })
            #expect(producer.outstandingCount == 0)
            producer.close()
            cluster.close()
        }
        #expect(reports.value.allSatisfy { $0 == 1 })
    }

    /// With more requests in flight, librdkafka takes a later batch's acknowledgement to mean that the broker also has
    /// the earlier batch. This is true of every broker except the in-process broker.
    @Test("If the broker refuses some requests, a producer with max.in.flight 1 still writes all its records in order")
    func acknowledgedIsThere() async throws {
        let cluster = try MockCluster(topics: ["t": 1])
        let more: KeyValuePairs = [
            "enable.idempotence": "true", "max.in.flight": "1", "linger.ms": "0", "batch.num.messages": "1",
            "retry.backoff.ms": "10",
        ]
        let producer = try KafkaProducer(properties: properties(cluster, more), log: quiet)
        _ = try await producer.send(ProducerRecord(topic: "t", partition: 0, value: [0]))
        cluster.setRoundTripTime(broker: 1, milliseconds: 5)
        cluster.pushRequestErrors(apiKey: 0, [19, 0, 0, 7, 0, 0, 0, 6, 0, 0, 20, 0, 0])
        let acknowledged = Shared(1)
        for number in 1..<100 {
            try producer.produce(ProducerRecord(topic: "t", partition: 0, value: [UInt8(number)])) { result in
                if case .success = result { acknowledged.update { $0 += 1 } }
            }
        }
        try await blocking {
            #expect(producer.flush(timeoutMilliseconds: 20_000))
            producer.close()
            let consumer = try KafkaConsumer(properties: consumerProperties(cluster), log: quiet)
            try consumer.assign([TopicPartition(topic: "t", partition: 0): 0])
            let read = try consumer.nextRecords(acknowledged.value)
            #expect(read.map { $0.value?.first } == (0..<100).map { UInt8($0) })
            consumer.close()
            cluster.close()
        }
        #expect(acknowledged.value == 100)
    }

    @Test("A closing producer reports each undeliverable record once, and a closed producer refuses further records")
    func closeWithOutstanding() async throws {
        let cluster = try MockCluster(topics: ["t": 2])
        let producer = try KafkaProducer(properties: properties(cluster), log: quiet)
        _ = try await producer.send(ProducerRecord(topic: "t", partition: 0, value: [1]))
        cluster.setBrokerDown(1)
        let reports = Shared<[Int: [Int32]]>([:])
        for number in 0..<100 {
            let record = ProducerRecord(topic: number % 2 == 0 ? "t" : "unheard", value: [UInt8(number)])
            try producer.produce(record) { result in
                if case .failure(let error) = result { reports.update { $0[number, default: []].append(error.code) } }
            }
        }
        try await blocking {
            producer.close(flushMilliseconds: 100)
            producer.close()
        }
        let purged = [KafkaError.Code.purgedInQueue, KafkaError.Code.purgedInFlight]
        #expect(reports.value.count == 100)
        #expect(reports.value.values.allSatisfy { $0.count == 1 && purged.contains($0[0]) })
        let refusal = #expect(throws: KafkaError.self) {
            try producer.produce(ProducerRecord(topic: "t", value: nil)) { _ in Issue.record("refused, yet reported") }
        }
        #expect(refusal?.code == KafkaError.Code.closed)
        #expect(!producer.flush(timeoutMilliseconds: 0))
        cluster.close()
    }

    @Test("If a producer's own thread releases the last reference to the producer, it still reports the delivery")
    func dropped() async throws {
        let cluster = try MockCluster(topics: ["t": 1])
        var producer: KafkaProducer? = try KafkaProducer(properties: properties(cluster), log: quiet)
        let result: Result<Delivery, KafkaError> = try await withCheckedThrowingContinuation { waiting in
            do {
                // The closure has the last reference, which the producer's thread releases.
                try producer?.produce(ProducerRecord(topic: "t", value: [1])) { [held = producer] result in
                    withExtendedLifetime(held) { waiting.resume(returning: result) }
                }
            } catch {
                waiting.resume(throwing: error)
            }
            producer = nil
        }
        #expect(throws: Never.self) { try result.get() }
        try await blocking { cluster.close() }
    }

    @Test("If a record exceeds message.max.bytes, `produce` throws, and never calls the record's delivery closure")
    func tooLarge() async throws {
        let cluster = try MockCluster(topics: ["t": 1])
        let producer = try KafkaProducer(properties: properties(cluster, ["message.max.bytes": "1000"]), log: quiet)
        let record = ProducerRecord(
            topic: "t", value: [UInt8](repeating: 0, count: 2_000), headers: [KafkaHeader(name: "a", value: [1])])
        let error = #expect(throws: KafkaError.self) {
            try producer.produce(record) { _ in Issue.record("refused, yet reported") }
        }
        #expect(error?.code == KafkaError.Code.messageTooLarge)
        #expect(error?.name == "MSG_SIZE_TOO_LARGE")
        #expect(error?.isRetriable == false)
        try await blocking {
            producer.close()
            cluster.close()
        }
    }

    @Test("If the producer's queue is full, `send` waits for room, and `produce` throws an error")
    func fullQueue() async throws {
        let cluster = try MockCluster(topics: ["t": 1])
        let few = properties(cluster, ["queue.buffering.max.messages": "10", "linger.ms": "1"])
        let producer = try KafkaProducer(properties: few, log: quiet)
        let offsets = try await withThrowingTaskGroup(of: Int64.self) { group in
            for _ in 0..<200 {
                group.addTask { try await producer.send(ProducerRecord(topic: "t", partition: 0, value: [1])).offset }
            }
            return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
        }
        #expect(offsets == Set(0..<200))

        cluster.setBrokerDown(-1)
        let error = #expect(throws: KafkaError.self) {
            for _ in 0..<11 { try producer.produce(ProducerRecord(topic: "t", partition: 0, value: [1])) { _ in } }
        }
        #expect(error?.code == KafkaError.Code.queueFull)
        #expect(error?.isRetriable == true)
        try await blocking {
            producer.close(flushMilliseconds: 0)
            cluster.close()
        }
    }

    @Test(
        "Before its first record, a producer fetches the metadata of the topics that its initializer was given",
        .timeLimit(.minutes(1)))
    func learntTopic() async throws {
        let cluster = try MockCluster(topics: ["t": 3])
        let (lines, log) = AsyncStream.makeStream(of: KafkaLogLine.self)
        let producer = try KafkaProducer(properties: properties(cluster, ["debug": "topic"]), topics: ["t"]) {
            log.yield($0)
        }
        // The producer has sent no record. Without the argument `topics`, librdkafka would never ask about the topic.
        for await line in lines where line.facility == "PARTCNT" && line.message.contains("from 0 to 3") { break }
        #expect(try await producer.send(ProducerRecord(topic: "t", partition: 2, value: [1])).offset == 0)
        try await blocking {
            producer.close()
            cluster.close()
        }
    }

    @Test("If the broker is down, the producer logs the outage, and delivers the record once the broker is up")
    func outage() async throws {
        let cluster = try MockCluster(topics: ["t": 1])
        let (lines, log) = AsyncStream.makeStream(of: KafkaLogLine.self)
        let producer = try KafkaProducer(properties: properties(cluster)) { log.yield($0) }
        _ = try await producer.send(ProducerRecord(topic: "t", value: [1]))
        cluster.setBrokerDown(-1)
        async let delivery = producer.send(ProducerRecord(topic: "t", value: [2]))
        for await line in lines where line.message.contains("_ALL_BROKERS_DOWN") { break }
        cluster.setBrokerUp(-1)
        #expect(try await delivery.offset == 1)
        try await blocking {
            producer.close()
            cluster.close()
        }
    }

    @Test("If a broker refuses a record, `send` throws the broker's error")
    func brokerRefusal() async throws {
        let cluster = try MockCluster(topics: ["t": 1])
        let producer = try KafkaProducer(properties: properties(cluster), log: quiet)
        cluster.pushRequestErrors(apiKey: 0, [KafkaError.Code.topicAuthorizationFailed])
        let error = await #expect(throws: KafkaError.self) {
            try await producer.send(ProducerRecord(topic: "t", value: [1]))
        }
        #expect(error?.name == "TOPIC_AUTHORIZATION_FAILED")
        #expect(error?.isRetriable == false)
        #expect(producer.fatalError == nil)
        try await blocking {
            producer.close()
            cluster.close()
        }
    }

    @Test("If the cluster does not authorize an idempotent producer, the producer throws and logs a fatal error")
    func fatal() async throws {
        let cluster = try MockCluster(topics: ["t": 1])
        cluster.pushRequestErrors(apiKey: 22, [31])  // InitProducerId, CLUSTER_AUTHORIZATION_FAILED
        let (lines, log) = AsyncStream.makeStream(of: KafkaLogLine.self)
        let producer = try KafkaProducer(properties: properties(cluster, ["enable.idempotence": "true"])) {
            log.yield($0)
        }
        let error = await #expect(throws: KafkaError.self) {
            try await producer.send(ProducerRecord(topic: "t", partition: 0, value: [2]))
        }
        #expect(error?.isFatal == true)
        #expect(error?.isRetriable == false)
        for await line in lines where line.facility == "ERROR" && line.message.contains("CLUSTER_AUTH") {
            #expect(line.level == 2)
            break
        }
        #expect(producer.fatalError?.name == "CLUSTER_AUTHORIZATION_FAILED")
        #expect(producer.fatalError?.isFatal == true)
        try await blocking {
            producer.close()
            cluster.close()
        }
    }
}
