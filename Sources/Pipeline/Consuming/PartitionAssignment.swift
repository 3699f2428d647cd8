import Fulfillment
import Kafka
import NamesAndTimes
import Operations

/// The partitions that this worker owns, with the values that decide about them. The consumer loop and its parts share
/// it. One thread's.
final class PartitionAssignment {
    private(set) var partitions: [TopicPartition: AssignedPartition] = [:]
    var gate: IntakeGate
    var isolation = CrashIsolation(deathsOfDeadLetter: CrashHistory.deathsOfUnreadable)
    /// The reason why the group is to be left and joined again; nil if it is not.
    private(set) var restartReason: String?
    private var count: UInt64 = 0
    private var gauges: PartitionGauges
    /// Open while this worker knows, as far as it can, which decisions the database has lost.
    private let parkedLeases: LeaseGate

    init(maximumInFlight: Int, parkedLeases: LeaseGate, metrics: ReceiptdMetrics) {
        self.parkedLeases = parkedLeases
        gate = IntakeGate(maximumRecords: maximumInFlight)
        gauges = PartitionGauges(
            lag: metrics.consumerLag, count: metrics.assignedPartitions, clock: metrics.recordClock)
    }

    subscript(partition: TopicPartition) -> AssignedPartition? { partitions[partition] }

    var all: [TopicPartition] { Array(partitions.keys) }

    // MARK: - Whose they are

    func begin(_ assigned: [TopicPartition]) {
        gauges.assign(assigned.map { ($0.topic, $0.partition) })
    }

    /// Adds the partition, in place of what is known from before.
    func add(
        _ partition: TopicPartition, progress: PartitionProgress, fallBackCount: Int = 0
    ) -> AssignedPartition {
        count += 1
        let state = AssignedPartition(assignment: count, progress: progress, fallBackCount: fallBackCount)
        partitions[partition] = state
        // Nothing is committed while nobody knows where it starts.
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

    /// Makes all partitions start at the lower offset. Nothing is committed on the way, and what was in flight comes
    /// again.
    func restart(_ reason: String) {
        restartReason = restartReason ?? reason
        parkedLeases.close()
    }
    /// Call this when a partition's rows show which decisions the database has lost, or that it lost none. If another
    /// partition's rows say that all are to start again, only that start decides.
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

    /// Returns the place up to which the partition's log is done with, behind gaps that are no records too. It is not
    /// to be committed.
    func reached(in partition: TopicPartition) -> Int64? {
        gate.reached(in: partition, decided: partitions[partition]?.progress.position)
    }

    /// Returns the expected offset of the next record.
    func next(of partition: TopicPartition) -> Int64? {
        gate.next(of: partition) ?? partitions[partition]?.progress.start
    }

    func commitsDue(of candidates: [TopicPartition]) -> [TopicPartition: CommitMark] {
        partitions.commitsDue(of: candidates, isolation)
    }

    /// The places up to which partitions are read, as far as this worker knows.
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
