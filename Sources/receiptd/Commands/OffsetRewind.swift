import Fulfillment
import Kafka
import Ledger

/// Moves a group's offsets back, in Kafka and in PostgreSQL.
struct OffsetRewind {
    private static let timeoutMilliseconds: Int32 = 20_000

    let kafka: KafkaSettings
    let checkpoints: any OffsetCheckpoints

    /// One partition's way.
    struct Move: Sendable, Equatable, CustomStringConvertible {
        let partition: TopicPartition
        /// Nil where the group never committed: it begins at the earliest record anyway.
        let from: Int64?
        let to: Int64?

        /// Only ever back: what lies between a later time and the committed offset was not decided yet.
        init(_ partition: TopicPartition, committed: Int64?, target: Int64) {
            self.partition = partition
            from = committed
            to = committed.map { min($0, target) }
        }

        /// Offsets that are taken again.
        var count: Int64 {
            guard let from, let to else { return 0 }
            return from - to
        }

        var description: String {
            guard let from, let to else { return "partition \(partition.partition): nothing was taken yet" }
            if from == to { return "partition \(partition.partition): stays at \(from)" }
            return "partition \(partition.partition): \(from) → \(to), \(count) records"
        }
    }

    func plan(to time: Timestamp) async throws -> [Move] {
        let properties = KafkaClientProperties(settings: kafka).consumer
        let topic = kafka.submissionsTopic
        try await DeadLetterTopic.requireTopic(topic, properties)
        return try await reaching { log in
            let consumer = try KafkaConsumer(properties: properties, log: log)
            defer { consumer.close() }
            let known = try consumer.metadata(topic: topic, timeoutMilliseconds: Self.timeoutMilliseconds)
            let partitions = (known.topics[topic] ?? []).sorted().map { TopicPartition(topic: topic, partition: $0) }
            let committed = try consumer.committedMarks(partitions, timeoutMilliseconds: Self.timeoutMilliseconds)
            let found = try consumer.offsetsForTime(
                partitions, milliseconds: time.milliseconds, timeoutMilliseconds: Self.timeoutMilliseconds)
            return try partitions.map { partition in
                // No record as young as that: everything in it is older.
                let target =
                    try found[partition]
                    ?? consumer.watermarks(partition, timeoutMilliseconds: Self.timeoutMilliseconds).high
                return Move(partition, committed: committed[partition]?.offset, target: target)
            }
        }
    }

    /// Kafka first, which refuses it while the group has members; a worker starts at the lower of the two offsets, so
    /// that it is done by then.
    func apply(_ moves: [Move]) async throws {
        var marks: [TopicPartition: CommitMark] = [:]
        for move in moves where move.count > 0 { marks[move.partition] = move.to.map { CommitMark(offset: $0) } }
        guard !marks.isEmpty else { return }
        let properties = KafkaClientProperties(settings: kafka).consumer
        try await reaching { [marks] log in
            let consumer = try KafkaConsumer(properties: properties, log: log)
            defer { consumer.close() }
            do throws(KafkaError) {
                try consumer.commit(marks, timeoutMilliseconds: Self.timeoutMilliseconds)
            } catch {
                guard Self.groupHasMembers.contains(error.code) else { throw error }
                throw CommandFailure("the group has members: stop all of its workers first", code: 1)
            }
        }
        let numbers = marks.keys.map(\.partition)
        let stored = try await checkpoints.read(topic: kafka.submissionsTopic, partitions: numbers)
        let writer = Int64.random(in: 1...(.max))
        var writes: [Int32: CheckpointWrite] = [:]
        for (partition, mark) in marks {
            let row = stored.checkpoints[partition.partition]
            let new = OffsetCheckpoint(nextOffset: mark.offset, writer: writer, version: (row?.version ?? 0) + 1)
            writes[partition.partition] = CheckpointWrite(expected: row, new: new)
        }
        let result = try await checkpoints.write(writes, topic: kafka.submissionsTopic, in: nil)
        guard result.refused.isEmpty else {
            throw CommandFailure("a worker has begun meanwhile: stop all of the group's workers first", code: 1)
        }
    }

    /// What a broker says to an outsider's commit while there are members.
    private static let groupHasMembers: Set<Int32> = [
        KafkaError.Code.unknownMemberID, KafkaError.Code.illegalGeneration, KafkaError.Code.rebalanceInProgress,
    ]

    /// Says what the clients that are given `body`'s log last heard of the brokers.
    private func reaching<Value: Sendable>(
        _ body: @escaping @Sendable (_ log: @escaping @Sendable (KafkaLogLine) -> Void) throws -> Value
    ) async throws -> Value {
        let recorder = TroubleRecorder()
        do {
            return try await blocking { try body(recorder.note) }
        } catch let error as KafkaError {
            throw CommandFailure(kafka: error, recorder)
        }
    }
}
