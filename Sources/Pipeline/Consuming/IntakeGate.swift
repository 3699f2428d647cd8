import DequeModule
import Kafka

/// Decides which records may begin, and which partitions fetch. The window limits the records in memory, and no record
/// begins before its partition is ready.
///
/// The value calls nothing: the consumer's thread passes events to its methods and carries out their results.
struct IntakeGate: Sendable {
    /// The seconds that the window may be full before partitions are paused. A pause throws away the records that
    /// librdkafka has fetched.
    static let fullBeforePauseSeconds = 1.0

    /// A condition for a partition's first record to begin.
    enum Prerequisite: Sendable {
        /// The partition's outbox is swept and its checkpoint is read.
        case preparation
        /// Kafka has this owner's start, or has refused it. Without the start, the next owner could not see that a
        /// record killed this one at once.
        case startCommit
    }

    /// The loop's next step.
    enum Turn: Equatable, Sendable {
        case poll
        /// The loop polls nothing for a moment, so that librdkafka keeps the records that it has fetched.
        case wait
        /// The loop pauses all partitions that `pausable` names.
        case pause
        /// The loop resumes the partitions that `resume` returns.
        case resume
    }

    /// The gate's answer to a new record.
    enum Taken: Equatable, Sendable {
        /// The record begins.
        case admitted
        /// The record has its place in the window and waits.
        case pending
        /// The record came during the pause, from a partition that could not be paused before its first record. The
        /// record gets its place in the window when the pause ends.
        case deferred
        /// The record's partition is not assigned to this worker.
        case unassigned
    }

    private enum State {
        /// The window has places. The next state is `full`.
        case open
        /// The window has no place. The next state is `open` as soon as it has one, or `paused` after a second.
        case full(since: Double)
        /// All partitions that fetched are paused. Polling goes on, so that the group does not exclude this member. The
        /// next state is `open`, once half of the places that no retrying record holds are free.
        case paused
    }

    private var state = State.open
    private var window: IntakeWindow
    private var partitions: [TopicPartition: PartitionIntake] = [:]
    /// True if a record came, or `resume` was called, since `takeStarving` last returned partitions.
    private var hasCome = false

    init(maximumRecords: Int) {
        window = IntakeWindow(maximumRecords: maximumRecords)
    }

    var isPaused: Bool { if case .paused = state { true } else { false } }
    var isFull: Bool { window.isFull }
    var records: Int { window.records }
    var bytes: Int { window.bytes }

    /// True if no record is in flight: every record in the window is pending.
    var isIdle: Bool { window.records == partitions.values.reduce(0) { $0 + $1.pending.count } }
}

// MARK: - Partitions

extension IntakeGate {
    mutating func assign(_ partition: TopicPartition, waitingFor prerequisites: Set<Prerequisite>) {
        partitions[partition] = PartitionIntake(waitingFor: prerequisites)
    }

    mutating func fulfil(_ prerequisite: Prerequisite, of partition: TopicPartition) {
        partitions[partition]?.fulfil(prerequisite)
    }

    /// Lets no further record of the partition begin.
    mutating func close(_ partition: TopicPartition) { partitions[partition]?.close() }

    /// Returns whether the partition is assigned and its records may begin now or later.
    func isTaking(_ partition: TopicPartition) -> Bool { partitions[partition].map { !$0.isClosed } ?? false }

    mutating func forget(_ partition: TopicPartition) {
        guard let gone = partitions.removeValue(forKey: partition) else { return }
        for record in gone.pending { window.release(bytes: record.byteCount) }
    }

    /// Notes that the consumer was closed, which ends all pauses.
    mutating func reopen() { state = .open }

    /// Returns the offset that the consumer reads next; nil if neither a record nor the log's end came since the
    /// assignment.
    func next(of partition: TopicPartition) -> Int64? { partitions[partition]?.next }

    /// Notes that the log ends at `offset` for now, as librdkafka reports.
    mutating func ended(_ partition: TopicPartition, at offset: Int64) { partitions[partition]?.ended(at: offset) }

    /// Returns the offset up to which the log needs no more work, if every record before `position` is decided. The
    /// offset may lie behind a transaction's marker, which is no record, so it is never committed.
    func reached(in partition: TopicPartition, decided position: Int64?) -> Int64? {
        partitions[partition].map { $0.reached(decided: position) } ?? position
    }

    /// Returns whether this worker lets records of the partition come: the window has a place, and the partition is
    /// neither paused nor closed.
    func mayCome(from partition: TopicPartition) -> Bool {
        guard !isPaused, !isFull, let intake = partitions[partition] else { return false }
        return !intake.isClosed && !intake.isPaused
    }

    /// Returns the partitions that fetch, each with the offset that is read next. Later calls return none until another
    /// record comes.
    mutating func takeStarving() -> [(partition: TopicPartition, next: Int64)] {
        guard hasCome, !isPaused else { return [] }
        hasCome = false
        return partitions.compactMap { partition, intake in
            guard intake.fetching == .running, let next = intake.next else { return nil }
            return (partition, next)
        }
    }
}

// MARK: - Records

extension IntakeGate {
    mutating func take(_ record: ConsumerRecord, _ admission: CrashIsolation.Admission) -> Taken {
        guard let index = partitions.index(forKey: record.topicPartition) else { return .unassigned }
        hasCome = true
        partitions.values[index].came(to: record.offset + 1)
        if isPaused {
            partitions.values[index].deferred.append(record)
            return .deferred
        }
        window.admit(bytes: record.byteCount)
        return partitions.values[index].take(record, admission) ? .admitted : .pending
    }

    /// Moves the partition's next offset behind `last`. The record taken last stands for the whole batch.
    mutating func stepOver(to last: Int64, of partition: TopicPartition) { partitions[partition]?.came(to: last + 1) }

    /// Admits the first pending record, and returns it; nil if no record may begin now.
    mutating func admitNext(of partition: TopicPartition, _ admission: CrashIsolation.Admission) -> ConsumerRecord? {
        partitions[partition]?.admitNext(admission)
    }

    /// Returns the offset of the first pending record; nil if there is none, or if the partition is not ready.
    func firstPending(of partition: TopicPartition) -> Int64? {
        guard let intake = partitions[partition], intake.isOpen else { return nil }
        return intake.pending.first?.offset
    }

    func isOpen(_ partition: TopicPartition) -> Bool { partitions[partition]?.isOpen ?? false }

    /// Admits the first pending record, which begins in isolation, and returns it; nil if no record is pending.
    mutating func admitIsolated(of partition: TopicPartition) -> ConsumerRecord? {
        partitions[partition]?.admitFirst()
    }

    /// Gives back the place of a record whose work has ended, even if its partition has left this worker.
    mutating func release(bytes: Int) { window.release(bytes: bytes) }
}

// MARK: - Pausing

extension IntakeGate {
    /// Returns the loop's next step.
    /// - Parameter held: the places of retrying records and of the records behind them, which may stay taken for long.
    mutating func turn(now: Double, held: WorkSlots.Places = WorkSlots.Places()) -> Turn {
        switch state {
        case .open:
            guard window.isFull else { return .poll }
            state = .full(since: now)
            return .wait
        case .full(let since):
            guard window.isFull else {
                state = .open
                return .poll
            }
            return now - since < Self.fullBeforePauseSeconds ? .wait : .pause
        case .paused: return window.mayResume(beside: held) ? .resume : .poll
        }
    }

    /// The partitions that fetch, so that they can be paused. A newly assigned partition can be paused after its first
    /// record. If an earlier pause overtook librdkafka's order to start fetching, librdkafka would drop that order for
    /// good.
    var pausable: [TopicPartition] { partitions.filter { $0.value.fetching == .running }.map(\.key) }

    mutating func paused(_ paused: [TopicPartition]) {
        state = .paused
        for partition in paused { partitions[partition]?.fetching = .paused }
    }

    /// Gives deferred records their places. Returns the partitions to fetch again; call `resumed` once the consumer has
    /// resumed them.
    mutating func resume() -> [TopicPartition] {
        state = .open
        hasCome = true
        for index in partitions.values.indices {
            while !window.isFull, let record = partitions.values[index].deferred.popFirst() {
                window.admit(bytes: record.byteCount)
                partitions.values[index].pending.append(record)
            }
        }
        return partitions.filter { $0.value.fetching == .paused && $0.value.deferred.isEmpty }.map(\.key)
    }

    /// Notes the partitions that the consumer has resumed. If other partitions are still paused, as when deferred
    /// records took all places, they wait for the next `resume`.
    mutating func resumed(_ resumed: [TopicPartition]) {
        for partition in resumed { partitions[partition]?.fetching = .running }
        if partitions.values.contains(where: { $0.fetching == .paused }) { state = .paused }
    }

    /// Returns whether the partition has enough pending records, so that it is to be paused alone. Records that wait
    /// for isolation, or for progress in Kafka, must not fill the window.
    func isBacklogged(_ partition: TopicPartition, _ admission: CrashIsolation.Admission) -> Bool {
        guard admission != .unlimited, let intake = partitions[partition], intake.fetching == .running else {
            return false
        }
        return intake.hasEnoughPending(for: admission)
    }

    mutating func pausedBacklogged(_ partition: TopicPartition) { partitions[partition]?.fetching = .backlogged }

    var backlogged: [TopicPartition] {
        partitions.filter { $0.value.fetching == .backlogged }.map(\.key)
    }

    /// Returns whether the consumer is to resume the partition; call `resumedBacklogged` once it has. During a pause of
    /// all partitions it returns false, and the partition resumes with the others.
    mutating func mayResumeBacklogged(_ partition: TopicPartition, _ admission: CrashIsolation.Admission) -> Bool {
        guard let intake = partitions[partition], !intake.hasEnoughPending(for: admission) else { return false }
        if isPaused { partitions[partition]?.fetching = .paused }
        return !isPaused
    }

    mutating func resumedBacklogged(_ partition: TopicPartition) { partitions[partition]?.fetching = .running }
}
