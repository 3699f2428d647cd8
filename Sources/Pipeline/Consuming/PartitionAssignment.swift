import Fulfillment
import Kafka
import NamesAndTimes
import Operations

/// The partitions that this worker owns, and the objects that decide about them. The consumer loop and its parts share
/// this object on one thread.
final class PartitionAssignment {
    private(set) var partitions: [TopicPartition: AssignedPartition] = [:]
    var gate: IntakeGate
    var isolation = CrashIsolation(deathsOfDeadLetter: CrashHistory.deathsOfUnreadable)
    /// The reason for the worker to leave the group and join it again; nil if there is none.
    private(set) var restartReason: String?
    private var count: UInt64 = 0
    private var gauges: PartitionGauges
    /// The gate for leases. It is closed, so that no loop behind it leases rows, until the worker has found out which
    /// decisions the database has lost.
    private let parkedLeases: LeaseGate

    init(maximumInFlight: Int, parkedLeases: LeaseGate, metrics: ReceiptdMetrics) {
        self.parkedLeases = parkedLeases
        gate = IntakeGate(maximumRecords: maximumInFlight)
        gauges = PartitionGauges(
            lag: metrics.consumerLag, count: metrics.assignedPartitions, clock: metrics.recordClock)
    }

    subscript(partition: TopicPartition) -> AssignedPartition? { partitions[partition] }

    var all: [TopicPartition] { Array(partitions.keys) }

    // MARK: - Assigned and revoked

    func begin(_ assigned: [TopicPartition]) {
        gauges.assign(assigned.map { ($0.topic, $0.partition) })
    }

    /// Adds the partition, and drops its state from an earlier assignment.
    func add(
        _ partition: TopicPartition, progress: PartitionProgress, fallBackCount: Int = 0
    ) -> AssignedPartition {
        count += 1
        let state = AssignedPartition(assignment: count, progress: progress, fallBackCount: fallBackCount)
        partitions[partition] = state
        // If the start is unknown, the worker cannot commit it, so records do not wait for that commit.
        gate.assign(partition, waitingFor: progress.start == nil ? [.preparation] : [.preparation, .startCommit])
        return state
    }

    func remove(_ partition: TopicPartition, isLost: Bool) {
        guard let state = partitions.removeValue(forKey: partition) else { return }
        state.preparing?.cancel()
        gate.forget(partition)
        isolation.forget(partition)
        gauges.revoke(topic: partition.topic, partition: partition.partition, isLost: isLost)
    }

    /// Makes the worker leave the group and join it again. Each partition then starts at the lower of Kafka's committed
    /// offset and the checkpoint. The worker commits nothing before that, so Kafka delivers the records in flight
    /// again.
    func restart(_ reason: String) {
        restartReason = restartReason ?? reason
        parkedLeases.close()
    }
    /// Opens the lease gate, because the worker knows which decisions the database has lost. If a restart is due, the
    /// gate stays closed until the partitions are taken over again.
    func lossesAreKnown() {
        if restartReason == nil { parkedLeases.open() }
    }

    func restart(_ restart: PartitionProgress.Restart?) {
        if let restart { self.restart(restart.rawValue) }
    }

    func takeRestartReason() -> String? { restartReason.take() }

    // MARK: - Records

    func inFlight(of candidates: [TopicPartition]) -> [WorkInHand] {
        candidates.flatMap { partitions[$0]?.inFlight.values.map(\.work) ?? [] }
    }

    func admission(to partition: TopicPartition) -> CrashIsolation.Admission {
        isolation.admission(to: partition, awaitsProgress: partitions[partition]?.progress.awaitsProgress ?? false)
    }

    /// Returns the offset before which the partition's log needs no more work. See `IntakeGate.reached`.
    func reached(in partition: TopicPartition) -> Int64? {
        gate.reached(in: partition, decided: partitions[partition]?.progress.position)
    }

    /// Returns the offset of the next record to read; nil if unknown.
    func next(of partition: TopicPartition) -> Int64? {
        gate.next(of: partition) ?? partitions[partition]?.progress.start
    }

    func commitsDue(of candidates: [TopicPartition]) -> [TopicPartition: CommitMark] {
        partitions.commitsDue(of: candidates, isolation)
    }

    /// The read positions of the assigned partitions, for the search for unreadable batches.
    var readings: [TopicPartition: UnreadableBatchWatch.Reading] {
        var readings: [TopicPartition: UnreadableBatchWatch.Reading] = [:]
        for partition in partitions.keys {
            readings[partition] = UnreadableBatchWatch.Reading(
                next: next(of: partition), mayCome: !isolation.isRestricted && gate.mayCome(from: partition))
        }
        return readings
    }

    // MARK: - Metrics

    func reportLag(_ consumer: KafkaConsumer) {
        partitions.reportLag(consumer, gauges) { reached(in: $0) ?? $1.progress.committed?.offset }
    }

    func reportInFlight(_ metrics: ReceiptdMetrics) {
        metrics.inFlight.set(gate.records)
        metrics.inFlightBytes.set(gate.bytes)
        let oldest = partitions.values.lazy.flatMap(\.inFlight.values).map(\.since).min()
        metrics.oldestInFlightSeconds.set(oldest.map { WallClock.monotonicSeconds - $0 } ?? 0)
    }
}
