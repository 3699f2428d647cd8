import Fulfillment
import Kafka
import NamesAndTimes

/// Moves a consumer group's offsets back, in Kafka and in PostgreSQL. The group must have no members. `plan` and
/// `apply` throw a `KafkaError` if Kafka fails.
public struct OffsetRewind: Sendable {
    private static let timeoutMilliseconds: Int32 = 20_000

    let topic: String
    /// The properties of a consumer, with the group's id.
    let consumerProperties: KafkaProperties
    let checkpoints: any OffsetCheckpoints
    let log: @Sendable (KafkaLogLine) -> Void

    /// - Parameter log: receives the log lines of the Kafka clients.
    public init(
        topic: String, consumerProperties: KafkaProperties, checkpoints: any OffsetCheckpoints,
        log: @escaping @Sendable (KafkaLogLine) -> Void
    ) {
        self.topic = topic
        self.consumerProperties = consumerProperties
        self.checkpoints = checkpoints
        self.log = log
    }

    /// The reason why offsets did not move. A partial move does no harm, because a worker starts at the lower of
    /// Kafka's offset and the checkpoint.
    public enum Refusal: Error, Sendable {
        /// Kafka refuses the move, because workers of the group run.
        case groupHasMembers
        /// A worker wrote a checkpoint between this command's read and its write.
        case workerHasBegun
    }

    /// The committed offset of one partition, and the offset that replaces it.
    public struct Move: Sendable, Equatable, CustomStringConvertible {
        public let partition: TopicPartition
        /// The committed offset; nil if the group never committed. The group then starts at the earliest record anyway.
        public let from: Int64?
        public let to: Int64?

        /// Plans a move to `target`, but never forward, because records after the committed offset are not decided yet.
        init(_ partition: TopicPartition, committed: Int64?, target: Int64) {
            self.partition = partition
            from = committed
            to = committed.map { min($0, target) }
        }

        /// The number of offsets that workers will read again.
        public var count: Int64 {
            guard let from, let to else { return 0 }
            return from - to
        }

        public var description: String {
            guard let from, let to else { return "partition \(partition.partition): the group has no committed offset" }
            if from == to { return "partition \(partition.partition): stays at \(from)" }
            return "partition \(partition.partition): \(from) → \(to), \(count) records"
        }
    }

    /// Plans moves after which the group will read the records since `time` again.
    public func plan(to time: Timestamp) async throws -> [Move] {
        try await blocking { [topic, consumerProperties, log] in
            let consumer = try KafkaConsumer(properties: consumerProperties, log: log)
            defer { consumer.close() }
            let known = try consumer.metadata(topic: topic, timeoutMilliseconds: Self.timeoutMilliseconds)
            let partitions = (known.topics[topic] ?? []).sorted().map { TopicPartition(topic: topic, partition: $0) }
            let committed = try consumer.committedMarks(partitions, timeoutMilliseconds: Self.timeoutMilliseconds)
            let found = try consumer.offsetsForTime(
                partitions, milliseconds: time.milliseconds, timeoutMilliseconds: Self.timeoutMilliseconds)
            return try partitions.map { partition in
                // The broker returns no offset if all records of the partition are older than `time`.
                let target =
                    try found[partition]
                    ?? consumer.watermarks(partition, timeoutMilliseconds: Self.timeoutMilliseconds).high
                return Move(partition, committed: committed[partition]?.offset, target: target)
            }
        }
    }

    /// Applies the moves in Kafka, which refuses them while the group has members. A worker starts at the lower of
    /// Kafka's offset and the checkpoint, so the moves take effect when Kafka has them.
    ///
    /// - Parameter restoredSince: the time from which a restore of the database may have lost published decisions; nil
    ///   if it lost none. If this time is given, workers that read the records again treat them as decided before: a
    ///   published grant stays with its player. A purchase that was refunded meanwhile is granted and at once revoked.
    ///
    /// Throws a `Refusal` if workers of the group run, and the store's error if PostgreSQL cannot be reached.
    public func apply(_ moves: [Move], restoredSince: Timestamp? = nil) async throws {
        var marks: [TopicPartition: CommitMark] = [:]
        for move in moves where move.count > 0 { marks[move.partition] = move.to.map { CommitMark(offset: $0) } }
        guard !marks.isEmpty else { return }
        if let restoredSince {
            // The loss is stored first. If the command fails after the moves, a second run finds nothing to move, and
            // would not store the loss.
            let before = Dictionary(
                uniqueKeysWithValues: moves.compactMap { move in
                    move.count > 0 ? move.from.map { (move.partition.partition, $0) } : nil
                })
            try await checkpoints.keepDecidedAgain(before, topic: topic, since: restoredSince)
        }
        try await blocking { [marks, consumerProperties, log] in
            let consumer = try KafkaConsumer(properties: consumerProperties, log: log)
            defer { consumer.close() }
            do throws(KafkaError) {
                try consumer.commit(marks, timeoutMilliseconds: Self.timeoutMilliseconds)
            } catch {
                guard Self.groupHasMembers.contains(error.code) else { throw error }
                throw Refusal.groupHasMembers
            }
        }
        let numbers = marks.keys.map(\.partition)
        let stored = try await checkpoints.read(topic: topic, partitions: numbers)
        let writer = Int64.random(in: 1...(.max))
        var writes: [Int32: CheckpointWrite] = [:]
        for (partition, mark) in marks {
            let row = stored.checkpoints[partition.partition]
            let new = OffsetCheckpoint(nextOffset: mark.offset, writer: writer, version: (row?.version ?? 0) + 1)
            writes[partition.partition] = CheckpointWrite(expected: row, new: new)
        }
        let result = try await checkpoints.write(writes, topic: topic, in: nil)
        guard result.refused.isEmpty else { throw Refusal.workerHasBegun }
    }

    /// The codes with which a broker refuses a commit from outside the group while the group has members.
    private static let groupHasMembers: Set<Int32> = [
        KafkaError.Code.unknownMemberID, KafkaError.Code.illegalGeneration, KafkaError.Code.rebalanceInProgress,
    ]
}

extension [OffsetRewind.Move] {
    /// The moves, with one line for each partition.
    public var plan: String { map(\.description).joined(separator: "\n") }

    /// The moves' result, in one sentence.
    public var ending: String {
        let count = reduce(0) { $0 + $1.count }
        return count == 0 ? "nothing changes" : "once workers run, they will read \(count) records again"
    }
}
