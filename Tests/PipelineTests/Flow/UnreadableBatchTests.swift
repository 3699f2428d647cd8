import Fulfillment
import Kafka
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Batches of submissions that the worker cannot read")
struct UnreadableBatchTests {
    private static let partition: Int32 = 3
    private let place = TopicPartition(topic: Sample.submissions, partition: partition)

    /// Returns a batch of `count` records that is marked as gzip, with bytes that gzip cannot read.
    private func damaged(_ count: Int32) -> RawBatch {
        RawBatch(codec: .gzip, count: count, records: Array("these are no compressed records".utf8))
    }

    private func letters(_ bench: PipelineBench) -> [String] {
        bench.collector.all(Sample.deadLetters).map { record in
            let headers = ["reason", "topic", "partition", "offset", "last-offset"]
            return headers.map { record.header("dead-letter-\($0)") ?? "-" }.joined(separator: " ")
        }
    }

    @Test(
        "if the worker cannot read a batch, it writes one dead letter with the batch's offsets, and reads on",
        .timeLimit(.minutes(5)))
    func steppedOver() async throws {
        let bench = try PipelineBench()
        try await bench.submit("before", player: "before", partition: Self.partition)
        try await blocking { [place] in
            try damaged(5).produce(to: place, bootstrapServers: bench.cluster.bootstrapServers)
        }
        let last = try await bench.submit("after", player: "after", partition: Self.partition)
        #expect(last == 6)
        let first = try bench.start()
        try await bench.untilAnswered("after", ["granted after"])
        #expect(bench.answers("before") == ["granted before"])
        try await bench.changes.until("the dead letter of the batch") {
            letters(bench) == ["unreadable_batch \(Sample.submissions) 3 1 5"]
        }
        try await bench.untilCommitted(7, of: Self.partition)
        #expect(first.metrics.deadLetters.with("unreadable_batch").value == 1)
        #expect(first.log.holds("error the worker skips a batch that it cannot read"))
        try await first.stop()

        // The next owner begins behind the first batch, and skips an unreadable batch at the end of the log too.
        try await blocking { [place] in
            try damaged(1).produce(to: place, bootstrapServers: bench.cluster.bootstrapServers)
        }
        let second = try bench.start()
        try await bench.changes.until("the dead letter of the last batch") {
            letters(bench).last == "unreadable_batch \(Sample.submissions) 3 7 7"
        }
        try await bench.untilCommitted(8, of: Self.partition)
        #expect(letters(bench).count == 2)
        try await second.stop()
        try await bench.close()
    }

    @Test(
        "the worker commits no offset past an unreadable batch until Kafka acknowledges the batch's dead letter",
        .timeLimit(.minutes(5)))
    func acknowledged() async throws {
        let bench = try PipelineBench { settings in
            // librdkafka gives up a record after two seconds here. Its default is five minutes.
            settings.producerProperties["message.timeout.ms"] = "2000"
        }
        try await blocking { [place] in
            try damaged(3).produce(to: place, bootstrapServers: bench.cluster.bootstrapServers)
        }
        bench.cluster.pushRequestErrors(
            apiKey: 0, Array(repeating: KafkaError.Code.topicAuthorizationFailed, count: 100_000))
        let running = try bench.start()
        // The first failure is in health before the second log line.
        try await bench.changes.until("publishing fails twice") {
            running.log.lines.count { $0.hasSuffix("publishing failed, trying again") } >= 2
        }
        #expect(try await bench.committed()[Self.partition] ?? 0 == 0)
        #expect(running.health.unmet.contains { $0.contains(Sample.deadLetters) })
        bench.cluster.clearRequestErrors(apiKey: 0)
        try await bench.untilCommitted(3, of: Self.partition)
        #expect(letters(bench) == ["unreadable_batch \(Sample.submissions) 3 0 2"])
        try await running.stop()
        try await bench.close()
    }

    @Test(
        "the batch probe finds an unreadable batch's end, even among adjacent ones, or if librdkafka reports no error")
    func probed() async throws {
        let cluster = try MockCluster(topics: ["t": 1])
        let partition = TopicPartition(topic: "t", partition: 0)
        let server = cluster.bootstrapServers
        let producer = try KafkaProducer(properties: PipelineBench.properties(cluster), log: { _ in })
        let record = ProducerRecord(topic: "t", partition: 0, value: [1])
        _ = try await producer.send(record)
        // Offsets 1 to 6: a batch whose record claims to be longer than the batch.
        try await blocking {
            try RawBatch(codec: .none, count: 6, records: [0x7E] + Array(repeating: 0, count: 200))
                .produce(to: partition, bootstrapServers: server)
        }
        _ = try await producer.send(record)
        // Offsets 8 to 1007, offset 1008, and offsets 1009 to 1010.
        try await blocking {
            try damaged(1000).produce(to: partition, bootstrapServers: server)
            try damaged(1).produce(to: partition, bootstrapServers: server)
            try damaged(2).produce(to: partition, bootstrapServers: server)
        }
        _ = try await producer.send(record)
        try await blocking { producer.close() }
        let probe = BatchProbe(properties: PipelineBench.settings(cluster).consumerProperties, log: { _ in })
        // The examinations of unreadable batches run concurrently, because each examination takes ten seconds or more.
        func examine(_ offset: Int64) async throws -> BatchProbe.Finding {
            try await blocking { try probe.examine(partition, at: offset) }
        }
        async let atReadable = [examine(0), examine(7), examine(1012)]
        async let atSeveral = examine(8)
        async let within = examine(500)
        async let atSilent = examine(3)
        #expect(try await atReadable == [.readable, .readable, .readable])
        guard case .unreadable(let several, let words) = try await atSeveral else {
            Issue.record("it was read")
            return
        }
        // The number of batches in one finding depends on timing, but the finding ends at the end of a batch.
        #expect(several.lowerBound == 8 && [1007, 1008, 1010].contains(several.upperBound), "\(several)")
        #expect(words?.contains("ecompress") == true, "\(words ?? "-")")
        guard case .unreadable(let rest, _) = try await within else {
            Issue.record("it was read from within")
            return
        }
        #expect(rest.lowerBound == 500 && [1007, 1008, 1010].contains(rest.upperBound), "\(rest)")
        #expect(try await atSilent == .unreadable(3...6, words: nil))
    }

    /// Returns a cluster whose topic `t` has three batches of one record.
    private func readable() async throws -> MockCluster {
        let cluster = try MockCluster(topics: ["t": 1])
        let producer = try KafkaProducer(properties: PipelineBench.properties(cluster), log: { _ in })
        for _ in 0..<3 { _ = try await producer.send(ProducerRecord(topic: "t", partition: 0, value: [1])) }
        try await blocking { producer.close() }
        return cluster
    }

    private func examineFirst(_ cluster: MockCluster) async throws -> BatchProbe.Finding {
        let probe = BatchProbe(properties: PipelineBench.settings(cluster).consumerProperties, log: { _ in })
        return try await blocking { try probe.examine(TopicPartition(topic: "t", partition: 0), at: 0) }
    }

    // These errors are KAFKA_STORAGE_ERROR, NOT_LEADER_FOR_PARTITION and OFFSET_NOT_AVAILABLE. librdkafka does not
    // report them.
    @Test(
        "if the broker answers fetches with an error, the batch probe times out, and reports no unreadable batch",
        .timeLimit(.minutes(2)), arguments: [Int32(56), 6, 78])
    func erring(code: Int32) async throws {
        let cluster = try await readable()
        cluster.pushRequestErrors(apiKey: 1, Array(repeating: code, count: 100_000))
        let error = await #expect(throws: KafkaError.self) { try await examineFirst(cluster) }
        #expect(error?.code == KafkaError.Code.timedOut)
        cluster.clearRequestErrors(apiKey: 1)
        #expect(try await examineFirst(cluster) == .readable)
    }

    @Test("if a batch becomes readable after three failed fetches, the batch probe reports the batch as readable")
    func mended() async throws {
        let cluster = try await readable()
        // Three fetches fail with _BAD_MSG, as if the batch were damaged.
        cluster.pushRequestErrors(apiKey: 1, [-199, -199, -199])
        #expect(try await examineFirst(cluster) == .readable)
    }
}
