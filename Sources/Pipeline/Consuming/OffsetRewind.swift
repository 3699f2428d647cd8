import Fulfillment
import Kafka
import NamesAndTimes

/// Moves the offsets of a group without members back, in Kafka and in PostgreSQL. Its calls of Kafka block, and throw a
/// `KafkaError`.
public struct OffsetRewind: Sendable {
    private static let timeoutMilliseconds: Int32 = 20_000

    let topic: String
    /// The properties with the group's id.
    let consumerProperties: KafkaProperties
    let checkpoints: any OffsetCheckpoints
    let log: @Sendable (KafkaLogLine) -> Void

    /// - Parameter log: receives what Kafka's clients say about the brokers.
    public init(
        topic: String, consumerProperties: KafkaProperties, checkpoints: any OffsetCheckpoints,
        log: @escaping @Sendable (KafkaLogLine) -> Void
    ) {
        self.topic = topic
        self.consumerProperties = consumerProperties
        self.checkpoints = checkpoints
        self.log = log
    }

    /// The reason why not everything was moved. A partial move harms nothing, because the lower of the two offsets
    /// counts.
    public enum Refusal: Error, Sendable {
        /// Kafka refuses the move, because workers of the group run.
        case groupHasMembers
        /// A worker has written a checkpoint after it was read.
        case workerHasBegun
    }

    /// The move of one partition.
    public struct Move: Sendable, Equatable, CustomStringConvertible {
        public let partition: TopicPartition
        /// The committed offset; nil if the group never committed, so that it begins at the earliest record anyway.
        public let from: Int64?
        public let to: Int64?

        /// Moves an offset only back: records between a later target and the committed offset are not decided yet.
        init(_ partition: TopicPartition, committed: Int64?, target: Int64) {
            self.partition = partition
            from = committed
            to = committed.map { min($0, target) }
        }

        /// The number of offsets that are taken again.
        public var count: Int64 {
            guard let from, let to else { return 0 }
            return from - to
        }

        public var description: String {
            guard let from, let to else { return "partition \(partition.partition): nothing was taken yet" }
            if from == to { return "partition \(partition.partition): stays at \(from)" }
            return "partition \(partition.partition): \(from) → \(to), \(count) records"
        }
    }

    /// Plans the moves that make the group read the records since `time` again.
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
                // No record as young as that: everything in it is older.
                let target =
                    try found[partition]
                    ?? consumer.watermarks(partition, timeoutMilliseconds: Self.timeoutMilliseconds).high
                return Move(partition, committed: committed[partition]?.offset, target: target)
            }
        }
    }

    /// Moves Kafka's offsets first, which Kafka refuses while the group has members. A worker starts at the lower of
    /// the two offsets, so that the move counts from then on.
    ///
    /// - Parameter restoredSince: a time from which decisions may have been published and lost by a restore of the
    ///   database; nil if none were. A purchase refunded since is then granted and revoked at once, and a published
    ///   grant stays its player's.
    ///
    /// Throws a `Refusal` if workers of the group run.
    public func apply(_ moves: [Move], restoredSince: Timestamp? = nil) async throws {
        var marks: [TopicPartition: CommitMark] = [:]
        for move in moves where move.count > 0 { marks[move.partition] = move.to.map { CommitMark(offset: $0) } }
        guard !marks.isEmpty else { return }
        if let restoredSince {
            // First: once Kafka's offset is back, a second run of the command has nothing to move.
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

    /// The codes by which a broker refuses an outsider's commit while the group has members.
    private static let groupHasMembers: Set<Int32> = [
        KafkaError.Code.unknownMemberID, KafkaError.Code.illegalGeneration, KafkaError.Code.rebalanceInProgress,
    ]
}

extension [OffsetRewind.Move] {
    /// The moves, one line for each partition.
    public var plan: String { map(\.description).joined(separator: "\n") }

    /// The result of the moves, in one sentence.
    public var ending: String {
        let count = reduce(0) { $0 + $1.count }
        return count == 0 ? "nothing changes" : "\(count) records are taken again once workers run"
    }
}
