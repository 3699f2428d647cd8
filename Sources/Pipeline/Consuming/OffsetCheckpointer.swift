import Fulfillment
import Kafka
import NamesAndTimes
import Operations

/// An object with a partition's progress, while the partition is assigned. Only the consumer's thread uses it.
protocol ProgressOwner: AnyObject {
    var progress: PartitionProgress { get set }
}

extension Dictionary where Key == TopicPartition, Value: ProgressOwner {
    /// Commits these marks, and blocks until the broker answers, for at most `seconds`.
    func commit(
        _ due: [TopicPartition: CommitMark], by consumer: KafkaConsumer, seconds: Double
    ) throws(KafkaError) {
        guard !due.isEmpty else { return }
        try consumer.commit(due, timeoutMilliseconds: Int32(seconds * 1000))
        for (partition, mark) in due { self[partition]?.progress.commitSucceeded(mark) }
    }

    /// Returns the marks of these partitions that Kafka does not have yet, each with metadata for the next owner.
    func commitsDue(of candidates: [TopicPartition], _ isolation: CrashIsolation) -> [TopicPartition: CommitMark] {
        var due: [TopicPartition: CommitMark] = [:]
        for partition in candidates {
            due[partition] = self[partition]?.progress.commitDue { hasMoved in
                isolation.metadata(of: partition, hasMoved: hasMoved)
            }
        }
        return due
    }

    /// Commits the partition's position (the offset before which every record is finished), with metadata for the next
    /// owner. Returns false if the position is unknown, or if the database has no checkpoint that allows this commit.
    func commitPosition(
        of partition: TopicPartition, metadata: String, by consumer: KafkaConsumer, seconds: Double
    ) throws(KafkaError) -> Bool {
        guard let progress = self[partition]?.progress, let position = progress.position,
            progress.committable == position
        else { return false }
        try commit([partition: CommitMark(offset: position, metadata: metadata)], by: consumer, seconds: seconds)
        return true
    }

    /// Reports each partition's lag.
    /// - Parameter next: returns the offset before which a partition's log needs no more work; nil if unknown.
    func reportLag(
        _ consumer: KafkaConsumer, _ gauges: PartitionGauges, next: (TopicPartition, Value) -> Int64?
    ) {
        for (partition, owner) in self {
            guard let marks = consumer.cachedWatermarks(partition), marks.high >= 0 else { continue }
            gauges.set(
                lag: marks.high - (next(partition, owner) ?? Swift.max(marks.low, 0)), end: marks.high,
                topic: partition.topic, partition: partition.partition, now: WallClock.now.milliseconds)
        }
    }
}

/// Checkpoints that one SQL transaction writes.
struct CheckpointBatch: Sendable {
    let topic: String
    /// The history of the database (the time from one start or restore of its server to the next) in which the
    /// checkpointed decisions were made; nil if there are no decisions since the last checkpoint.
    let decidedIn: DatabaseHistory?
    var writes: [TopicPartition: CheckpointWrite] = [:]

    func write(to store: any OffsetCheckpoints) async throws -> CheckpointResult {
        let byNumber = Dictionary(uniqueKeysWithValues: writes.map { ($0.key.partition, $0.value) })
        return try await store.write(byNumber, topic: topic, in: decidedIn)
    }
}

/// A query that compares this worker's checkpoint rows with the database's rows. It leaves out a row with a write under
/// way. `asked` has each row as this worker knew it before the query.
struct CheckpointLook: Sendable {
    let topic: String
    var asked: [TopicPartition: OffsetCheckpoint?] = [:]

    func read(from store: any OffsetCheckpoints) async throws -> StoredCheckpoints {
        try await store.read(topic: topic, partitions: asked.keys.map(\.partition).sorted())
    }
}

/// Writes the partitions' checkpoints to the database. Each consumer loop has a checkpointer of its own, and calls it
/// on its own thread. If a method returns a `Restart`, the loop must read partitions again from a lower offset.
struct OffsetCheckpointer: Sendable {
    let store: any OffsetCheckpoints
    let topic: String
    let failures: Failures

    /// Reads these partitions' rows. Blocks for at most `seconds`. Returns nil if the database does not answer in time.
    func read(_ partitions: [TopicPartition], seconds: Double) -> StoredCheckpoints? {
        wait(seconds: seconds) { [store, topic] in
            try await store.read(topic: topic, partitions: partitions.map(\.partition))
        }
    }

    /// Stores that decisions below these offsets may be lost. Blocks for at most `seconds`. Returns false if the
    /// database does not answer in time.
    /// - Parameter since: the time of the state that the database fell back to, or an earlier time; nil for the time of
    ///   the partitions' last checkpoint.
    func keepDecidedAgain(_ ends: [TopicPartition: Int64], since: Timestamp? = nil, seconds: Double) -> Bool {
        guard !ends.isEmpty else { return true }
        let byNumber = Dictionary(uniqueKeysWithValues: ends.map { ($0.key.partition, $0.value) })
        return wait(seconds: seconds) { [store, topic] in
            try await store.keepDecidedAgain(byNumber, topic: topic, since: since)
        } != nil
    }

    /// Runs `body`. If `body` throws, reports the error and returns nil.
    func reporting<Value: Sendable>(_ body: () async throws -> Value) async -> Value? {
        do {
            let value = try await body()
            failures.recovered(.offsets)
            return value
        } catch {
            failures.report(error, of: .offsets)
            return nil
        }
    }

    /// Runs `body`, and blocks this thread for at most `seconds`. If `body` throws or takes longer, reports that and
    /// returns nil.
    func wait<Value: Sendable>(seconds: Double, _ body: @escaping @Sendable () async throws -> Value) -> Value? {
        let value = BlockingWork.wait(seconds: seconds, failed: { failures.report($0, of: .offsets) }, body)
        if value != nil { failures.recovered(.offsets) }
        return value
    }

    /// Returns the checkpoint writes that are due, in one batch for each history of the database in which decisions
    /// were made. Until `end` is called, these writes count as under way.
    func begin(_ owners: [TopicPartition: some ProgressOwner]) -> [CheckpointBatch] {
        var batches: [DatabaseHistory?: CheckpointBatch] = [:]
        for (partition, owner) in owners {
            guard let (write, decidedIn) = owner.progress.beginCheckpoint() else { continue }
            batches[decidedIn, default: CheckpointBatch(topic: topic, decidedIn: decidedIn)].writes[partition] = write
        }
        return Array(batches.values)
    }

    /// Ends the batch's writes. Returns a reason if the worker must read partitions again; otherwise nil.
    /// - Parameter result: the database's answer; nil if it did not answer.
    func end(
        _ batch: CheckpointBatch, _ result: CheckpointResult?, _ owners: [TopicPartition: some ProgressOwner]
    ) -> PartitionProgress.Restart? {
        var restart: PartitionProgress.Restart?
        for (partition, write) in batch.writes {
            let found = owners[partition]?.progress.endCheckpoint(write, partition: partition.partition, result)
            restart = restart ?? found
        }
        return restart
    }

    /// Writes the checkpoints that are due. Blocks the consumer's thread for at most `seconds`.
    func writeNow(
        _ owners: [TopicPartition: some ProgressOwner], seconds: Double
    ) -> PartitionProgress.Restart? {
        let deadline = WallClock.monotonicSeconds + seconds
        var restart: PartitionProgress.Restart?
        for batch in begin(owners) {
            let result = wait(seconds: deadline - WallClock.monotonicSeconds) { [store] in
                try await batch.write(to: store)
            }
            restart = end(batch, result, owners) ?? restart
        }
        return restart
    }

    /// Counts in the database that this worker leaves these partitions in order. During a rebalance Kafka refuses
    /// commits, so the metadata in Kafka may look as if this worker had died. The count shows the next owner that it
    /// did not. A partition without metadata in Kafka is not counted.
    func leave(
        _ leaving: [TopicPartition], of owners: [TopicPartition: some ProgressOwner], _ isolation: inout CrashIsolation,
        seconds: Double
    ) {
        let told = leaving.filter { owners[$0]?.progress.hasMetadata ?? false }
        var departures: [Int32: Int64] = [:]
        if !told.isEmpty {
            let counted = wait(seconds: seconds) { [store, topic] in
                try await store.countDepartures(told.map(\.partition), topic: topic)
            }
            departures = counted ?? [:]
        }
        for partition in leaving { isolation.leave(partition, departures: departures[partition.partition]) }
    }

    /// Returns a comparison of the rows without a write under way; nil if there are no such rows.
    func beginLook(_ owners: [TopicPartition: some ProgressOwner]) -> CheckpointLook? {
        var look = CheckpointLook(topic: topic)
        for (partition, owner) in owners {
            if case .some(let row) = owner.progress.verifiableRow { look.asked[partition] = .some(row) }
        }
        return look.asked.isEmpty ? nil : look
    }

    /// Reads the comparison's rows. Blocks for at most `seconds`. Returns nil if the database does not answer in time.
    func finish(_ look: CheckpointLook, seconds: Double) -> StoredCheckpoints? {
        wait(seconds: seconds) { [store] in try await look.read(from: store) }
    }

    func end(
        _ look: CheckpointLook, _ found: StoredCheckpoints, _ owners: [TopicPartition: some ProgressOwner]
    ) -> PartitionProgress.Restart? {
        for (partition, asked) in look.asked {
            let restart = owners[partition]?.progress.verify(
                found.checkpoints[partition.partition], in: found.history, asked: asked)
            if let restart { return restart }
        }
        return nil
    }
}
