import Clocks
import Fulfillment
import Kafka
import Operations

/// Whoever keeps a partition's progress while it is assigned. Confined to its consumer's thread.
protocol ProgressOwner: AnyObject {
    var progress: PartitionProgress { get set }
}

extension Dictionary where Key == TopicPartition, Value: ProgressOwner {
    /// Blocks until the broker has answered, for a bounded time.
    func commit(
        _ due: [TopicPartition: CommitMark], by consumer: KafkaConsumer, seconds: Double
    ) throws(KafkaError) {
        guard !due.isEmpty else { return }
        try consumer.commit(due, timeoutMilliseconds: Int32(seconds * 1000))
        for (partition, mark) in due { self[partition]?.progress.commitSucceeded(mark) }
    }
}

/// Checkpoints for one SQL transaction.
struct CheckpointBatch: Sendable {
    let topic: String
    /// Where the decisions were made that they cover; nil: there are none since the last.
    let decidedIn: DatabaseHistory?
    var writes: [TopicPartition: CheckpointWrite] = [:]

    func write(to store: any OffsetCheckpoints) async throws -> CheckpointResult {
        let byNumber = Dictionary(uniqueKeysWithValues: writes.map { ($0.key.partition, $0.value) })
        return try await store.write(byNumber, topic: topic, in: decidedIn)
    }
}

/// A look at rows that are not to be written, and what each held when the look began.
struct CheckpointLook: Sendable {
    let topic: String
    var asked: [TopicPartition: OffsetCheckpoint?] = [:]

    func read(from store: any OffsetCheckpoints) async throws -> StoredCheckpoints {
        try await store.read(topic: topic, partitions: asked.keys.map(\.partition).sorted())
    }
}

/// Takes checkpoints from partitions' progress to the database, and brings back what became of them. Both consumer loops
/// use it, each on its own thread. What it returns says that partitions are to be read again from further back.
struct OffsetCheckpointer: Sendable {
    let store: any OffsetCheckpoints
    let topic: String
    let failures: Failures

    /// Blocks for a bounded time; nil where the database does not answer within it.
    func read(_ partitions: [TopicPartition], seconds: Double) -> StoredCheckpoints? {
        wait(seconds: seconds) { [store, topic] in
            try await store.read(topic: topic, partitions: partitions.map(\.partition))
        }
    }

    /// Blocks for a bounded time; false where the database does not answer within it.
    func keepDecidedAgain(_ ends: [TopicPartition: Int64], seconds: Double) -> Bool {
        let byNumber = Dictionary(uniqueKeysWithValues: ends.map { ($0.key.partition, $0.value) })
        return wait(seconds: seconds) { [store, topic] in
            try await store.keepDecidedAgain(byNumber, topic: topic)
        } != nil
    }

    /// Nil where the database does not answer, which is reported.
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

    /// The same on a thread that may block, for a bounded time.
    func wait<Value: Sendable>(seconds: Double, _ body: @escaping @Sendable () async throws -> Value) -> Value? {
        let value = BlockingWork.wait(seconds: seconds, failed: { failures.report($0, of: .offsets) }, body)
        if value != nil { failures.recovered(.offsets) }
        return value
    }

    /// What is due, a batch for each history that decisions were made in.
    func begin(_ owners: [TopicPartition: some ProgressOwner]) -> [CheckpointBatch] {
        var batches: [DatabaseHistory?: CheckpointBatch] = [:]
        for (partition, owner) in owners {
            guard let (write, decidedIn) = owner.progress.beginCheckpoint() else { continue }
            batches[decidedIn, default: CheckpointBatch(topic: topic, decidedIn: decidedIn)].writes[partition] = write
        }
        return Array(batches.values)
    }

    /// - Parameter result: nil where the database did not answer.
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

    /// On the consumer's thread, for a bounded time. Whatever was not written is not committed.
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

    /// Nil where there is nothing to look at.
    func beginLook(_ owners: [TopicPartition: some ProgressOwner]) -> CheckpointLook? {
        var look = CheckpointLook(topic: topic)
        for (partition, owner) in owners {
            if case .some(let row) = owner.progress.verifiableRow { look.asked[partition] = .some(row) }
        }
        return look.asked.isEmpty ? nil : look
    }

    /// Blocks for a bounded time.
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
