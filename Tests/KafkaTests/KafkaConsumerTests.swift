import Kafka
import Testing

/// The consumers get their partitions by `assign`. A join of a group would take the mock cluster 3 s.
@Suite("A Kafka consumer's reads and commits without a group join", .serialized)
struct KafkaConsumerTests {
    private static let partition = TopicPartition(topic: "t", partition: 0)

    /// Runs `body` with a consumer of a topic that has the texts 0 to 9.
    private func withConsumer(
        _ more: KeyValuePairs<String, String> = [:],
        _ body: @escaping @Sendable (KafkaConsumer, MockCluster) throws -> Void
    ) async throws {
        let cluster = try MockCluster(topics: ["t": 2])
        let producer = try KafkaProducer(properties: properties(cluster), log: quiet)
        try await producer.sendNumbers(10, topic: "t")
        let settings = consumerProperties(cluster, more)
        try await blocking {
            defer { cluster.close() }
            producer.close()
            let consumer = try KafkaConsumer(properties: settings, log: quiet)
            defer { consumer.close() }
            try body(consumer, cluster)
        }
    }

    @Test("The consumer reads each assigned partition from the given offset to the partition's end")
    func assign() async throws {
        try await withConsumer(["enable.partition.eof": "true"]) { consumer, _ in
            try consumer.assign([Self.partition: 7, TopicPartition(topic: "t", partition: 1): -2])
            var texts: [String] = []
            var ended: [TopicPartition: Int64] = [:]
            try consumer.poll { polled in
                switch polled {
                case .record(let record): texts.append(record.text ?? "")
                case .partitionEnd(let partition, let next): ended[partition] = next
                case .trouble(let error): throw error
                case nil: break
                }
                return ended.count == 2 ? () : nil
            }
            #expect(texts == ["7", "8", "9"])
            #expect(ended == [Self.partition: 10, TopicPartition(topic: "t", partition: 1): 0])
        }
    }

    @Test(
        "If a time is before 1970, offsetsForTime returns the offsets of 1970, even for Kafka's special times -1 and -2",
        arguments: [-1, -2, -1000])
    func timesBefore1970(milliseconds: Int64) async throws {
        try await withConsumer { consumer, _ in
            func offsets(_ milliseconds: Int64) throws -> [TopicPartition: Int64] {
                try consumer.offsetsForTime([Self.partition], milliseconds: milliseconds, timeoutMilliseconds: 10_000)
            }
            let (before, at) = (try offsets(milliseconds), try offsets(0))
            #expect(before == at)
            // `watermarks` looks up the special timestamps, so this shows that the mock cluster distinguishes them from
            // a time.
            let marks = try consumer.watermarks(Self.partition, timeoutMilliseconds: 10_000)
            #expect(marks.low == 0 && marks.high == 10)
        }
    }

    @Test("The consumer polls no record of a paused partition, and after the resume continues at the next record")
    func pauseAndResume() async throws {
        try await withConsumer { consumer, cluster in
            let other = TopicPartition(topic: "t", partition: 1)
            try consumer.assign([Self.partition: 0, other: 0])
            #expect(try consumer.nextRecords(2).compactMap(\.text) == ["0", "1"])
            try consumer.pause([Self.partition])
            // The other partition's record proves that the consumer fetched meanwhile.
            let producer = try KafkaProducer(properties: properties(cluster), log: quiet)
            try producer.produce(ProducerRecord(topic: "t", partition: 1, value: [42])) { _ in }
            #expect(try consumer.nextRecords(1).map(\.topicPartition) == [other])
            producer.close()
            try consumer.resume([Self.partition])
            #expect(try consumer.nextRecords(8).compactMap(\.text) == (2..<10).map(String.init))
        }
    }

    @Test("Pausing a partition that is not assigned throws an error")
    func pauseUnassigned() async throws {
        try await withConsumer { consumer, _ in
            let error = #expect(throws: KafkaError.self) {
                try consumer.pause([TopicPartition(topic: "nowhere", partition: 0)])
            }
            #expect(error?.name == "_UNKNOWN_PARTITION")
        }
    }

    @Test("The consumer reads committed offsets back, and leaves out a partition without a committed offset")
    func commitAndRead() async throws {
        try await withConsumer { consumer, _ in
            let both = [Self.partition, TopicPartition(topic: "t", partition: 1)]
            #expect(try consumer.committed(both, timeoutMilliseconds: 10_000).isEmpty)
            try consumer.commit([Self.partition: CommitMark(offset: 4, metadata: "4,6-7")], timeoutMilliseconds: 10_000)
            #expect(try consumer.committed(both, timeoutMilliseconds: 10_000) == [Self.partition: 4])
            try consumer.commit([:], timeoutMilliseconds: 10_000)
        }
    }

    @Test("The consumer's poll calls onCommit with the success or the failure of an asynchronous commit")
    func asynchronousCommit() async throws {
        try await withConsumer { consumer, cluster in
            var outcomes: [Result<[TopicPartition: Int64], KafkaError>] = []
            consumer.onCommit = { outcomes.append($0) }
            try consumer.commit([Self.partition: CommitMark(offset: 3)])
            try consumer.poll { _ in outcomes.isEmpty ? nil : () }
            cluster.pushRequestErrors(apiKey: 8, [KafkaError.Code.unknownMemberID])
            try consumer.commit([Self.partition: CommitMark(offset: 5)])
            try consumer.poll { _ in outcomes.count < 2 ? nil : () }
            #expect(outcomes[0] == .success([Self.partition: 3]))
            #expect(throws: KafkaError.self) { try outcomes[1].get() }
            #expect(try consumer.committed([Self.partition], timeoutMilliseconds: 10_000) == [Self.partition: 3])
        }
    }

    @Test(
        "If the coordinator refuses a commit, the commit throws the coordinator's error code",
        arguments: [("ILLEGAL_GENERATION", Int32(22)), ("UNKNOWN_MEMBER_ID", 25), ("TOPIC_AUTHORIZATION_FAILED", 29)])
    func refusedCommit(name: String, code: Int32) async throws {
        try await withConsumer { consumer, cluster in
            cluster.pushRequestErrors(apiKey: 8, [code])
            let error = #expect(throws: KafkaError.self) {
                try consumer.commit([Self.partition: CommitMark(offset: 5)], timeoutMilliseconds: 10_000)
            }
            #expect(error?.name == name)
            #expect(error?.code == code)
            #expect(error?.isRetriable == false)
            #expect(error?.isFatal == false)
            try consumer.commit([Self.partition: CommitMark(offset: 6)], timeoutMilliseconds: 10_000)
        }
    }

    @Test("The consumer asks the broker for both watermarks, and caches the high watermark of a fetched partition")
    func watermarks() async throws {
        try await withConsumer { consumer, _ in
            let (low, high) = try consumer.watermarks(Self.partition, timeoutMilliseconds: 10_000)
            #expect(low == 0)
            #expect(high == 10)
            try consumer.assign([Self.partition: -2])
            _ = try consumer.nextRecords(10)
            #expect(consumer.cachedWatermarks(Self.partition)?.high == 10)
            #expect(consumer.cachedWatermarks(TopicPartition(topic: "never", partition: 0)) == nil)
        }
    }

    /// librdkafka 2.0's own call for watermarks ignores its time-out and waits for the broker.
    @Test("A request for watermarks times out while the broker is slow, and succeeds afterwards")
    func slowWatermarks() async throws {
        try await withConsumer { consumer, cluster in
            let partitions = [Self.partition, TopicPartition(topic: "t", partition: 1)]
            let asked = try consumer.watermarks(partitions, timeoutMilliseconds: 10_000)
            #expect(asked.mapValues { [$0.low, $0.high] } == [partitions[0]: [0, 10], partitions[1]: [0, 0]])
            cluster.setRoundTripTime(broker: -1, milliseconds: 3_000)
            let error = #expect(throws: KafkaError.self) {
                _ = try consumer.watermarks(partitions, timeoutMilliseconds: 200)
            }
            #expect(error?.code == KafkaError.Code.timedOut)
            cluster.setRoundTripTime(broker: -1, milliseconds: 0)
            #expect(try consumer.watermarks(partitions, timeoutMilliseconds: 30_000).count == 2)
        }
    }

    @Test("wakeFetchers loses and repeats no record, even if called before an assignment, in a pause or after close")
    func wake() async throws {
        try await withConsumer(["queued.max.messages.kbytes": "1"]) { consumer, _ in
            consumer.wakeFetchers(of: [])
            consumer.wakeFetchers(of: [Self.partition, TopicPartition(topic: "never", partition: 0)])
            try consumer.assign([Self.partition: 0])
            var read: [String] = []
            var wasPaused = false
            while read.count < 10 {
                consumer.wakeFetchers(of: [Self.partition])
                if case .record(let record) = consumer.poll(timeoutMilliseconds: 100) { read += [record.text ?? ""] }
                if read.count >= 5, !wasPaused {
                    wasPaused = true
                    try consumer.pause([Self.partition])
                    consumer.wakeFetchers(of: [Self.partition])
                    try consumer.resume([Self.partition])
                }
            }
            #expect(read == (0..<10).map(String.init))
            #expect(consumer.poll(timeoutMilliseconds: 0) == nil)
            consumer.close()
            consumer.wakeFetchers(of: [Self.partition])
        }
    }

    @Test("If a fetch's offset is out of range, the consumer's poll returns the error")
    func trouble() async throws {
        try await withConsumer(["auto.offset.reset": "error"]) { consumer, _ in
            try consumer.assign([Self.partition: 1_000])
            let error = try consumer.poll { polled in
                if case .trouble(let error) = polled { error } else { nil }
            }
            #expect(error.name == "OFFSET_OUT_OF_RANGE" || error.name == "_AUTO_OFFSET_RESET")
            #expect(error.isFatal == false)
        }
    }

    @Test("If a paused partition is unassigned and assigned again, the partition is no longer paused")
    func pauseThenReassign() async throws {
        try await withConsumer { consumer, _ in
            try consumer.assign([Self.partition: 0])
            _ = try consumer.nextRecords(2)
            try consumer.pause([Self.partition])
            try consumer.assign([:])
            try consumer.assign([Self.partition: 5])
            #expect(try consumer.nextRecords(5).compactMap(\.text) == (5..<10).map(String.init))
        }
    }

    @Test("A closed consumer polls no record, and a commit of a closed consumer throws an error")
    func closed() async throws {
        try await withConsumer { consumer, _ in
            try consumer.assign([Self.partition: 0])
            consumer.close()
            consumer.close()
            #expect(consumer.poll(timeoutMilliseconds: 0) == nil)
            #expect(consumer.memberID == nil)
            let error = #expect(throws: KafkaError.self) {
                try consumer.commit([Self.partition: CommitMark(offset: 1)], timeoutMilliseconds: 10_000)
            }
            #expect(error?.code == KafkaError.Code.closed)
        }
    }
}
