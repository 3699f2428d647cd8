import Fulfillment
import Kafka
import NamesAndTimes
import Operations

/// The partitions that this worker owns, with the values that decide about them. The consumer loop and its parts share
/// this object on one thread.
final class PartitionAssignment {
    private(set) var partitions: [TopicPartition: AssignedPartition] = [:]
    var gate: IntakeGate
    var isolation = CrashIsolation(deathsOfDeadLetter: CrashHistory.deathsOfUnreadable)
    /// The reason why the worker is to leave the group and join it again; nil if it is not.
    private(set) var restartReason: String?
    private var count: UInt64 = 0
    private var gauges: PartitionGauges
    /// The gate for leases; open while this worker knows, as far as it can, which decisions the database has lost.
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
        // A partition with an unknown start has no start commit to wait for.
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

    /// Makes the worker leave the group and join it again, so that partitions start at the lower of the two offsets.
    /// The worker commits nothing before, and Kafka delivers the records in flight again.
    func restart(_ reason: String) {
        restartReason = restartReason ?? reason
        parkedLeases.close()
    }
    /// Lets rows be leased, because this worker knows which decisions the database has lost. If a restart is due, the
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

    /// Returns the offset up to which the partition's log needs no more work, also behind a transaction's marker, which
    /// is no record. This offset is never committed.
    func reached(in partition: TopicPartition) -> Int64? {
        gate.reached(in: partition, decided: partitions[partition]?.progress.position)
    }

    /// Returns the offset that the consumer reads next; nil if unknown.
    func next(of partition: TopicPartition) -> Int64? {
        gate.next(of: partition) ?? partitions[partition]?.progress.start
    }

    func commitsDue(of candidates: [TopicPartition]) -> [TopicPartition: CommitMark] {
        partitions.commitsDue(of: candidates, isolation)
    }

    /// The reading of each assigned partition.
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
