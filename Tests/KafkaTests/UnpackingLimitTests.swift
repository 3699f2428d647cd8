import Testing

@testable import Kafka

@Suite("The Kafka consumer's limit on decompressed batches")
struct UnpackingLimitTests {
    /// For each size, sends a batch with one record of this many MiB of blanks. The codec compresses the blanks to
    /// some kilobytes. Returns the consumer's results.
    private func read(_ codec: String, megabytes: [Int]) async throws -> [String] {
        let cluster = try MockCluster(topics: ["t": 1])
        let producer = try KafkaProducer(
            properties: properties(
                cluster, ["compression.codec": codec, "message.max.bytes": "400000000", "batch.num.messages": "1"]),
            log: quiet)
        for size in megabytes {
            let value = [UInt8](repeating: 0x20, count: size << 20)
            _ = try await producer.send(ProducerRecord(topic: "t", partition: 0, value: value))
        }
        return try await blocking {
            producer.close()
            let consumer = try KafkaConsumer(
                properties: consumerProperties(cluster, ["receive.message.max.bytes": "100000000"]), log: quiet)
            defer { consumer.abandon() }
            try consumer.assign([TopicPartition(topic: "t", partition: 0): 0])
            var seen: [String] = []
            return try consumer.poll { polled in
                switch polled {
                case .record(let record): seen.append("\((record.value?.count ?? 0) >> 20) at \(record.offset)")
                case .trouble(let error) where error.isUnreadableBatch:
                    seen.append("\(error.name) at \(error.place?.offset ?? -1)")
                default: return nil
                }
                return seen.count >= megabytes.count ? seen : nil
            }
        }
    }

    @Test(
        "if a batch decompresses beyond the limit, the Kafka consumer refuses the batch, and reports the batch's offset",
        arguments: ["gzip", "lz4", "zstd"])
    func bomb(codec: String) async throws {
        #expect(try await read(codec, megabytes: [1, 110]) == ["1 at 0", "_BAD_COMPRESSION at 1"])
    }

    @Test(
        "if five batches exceed the decompression limit only together, the Kafka consumer reads all five",
        arguments: ["gzip", "lz4", "zstd"])
    func whole(codec: String) async throws {
        #expect(try await read(codec, megabytes: [20, 20, 20, 20, 20]) == (0..<5).map { "20 at \($0)" })
    }
}
