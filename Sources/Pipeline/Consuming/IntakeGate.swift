import DequeModule
import Kafka

/// Decides which records the worker may begin, and from which partitions librdkafka fetches. The window limits the
/// records in memory. No record begins before all prerequisites of its partition are fulfilled.
///
/// The struct calls no other part: the consumer's thread passes events to its methods and carries out their results.
struct IntakeGate: Sendable {
    /// The seconds for which the window may be full before partitions are paused. A short wait causes no pause, because
    /// a pause makes librdkafka drop the records that it has fetched.
    static let fullBeforePauseSeconds = 1.0

    /// A condition for a partition's first record to begin.
    enum Prerequisite: Sendable {
        /// The worker has published the events that earlier owners left unpublished, and has read the partition's
        /// checkpoint.
        case preparation
        /// Kafka has committed this owner's start offset, or has refused the commit. The commit's metadata counts this
        /// owner's start in the crash history, which the next owner reads if a record kills this process.
        case startCommit
    }

    /// The loop's next step.
    enum Turn: Equatable, Sendable {
        case poll
        /// The loop polls nothing for a moment. Unlike a pause, this keeps the records that librdkafka has fetched.
        case wait
        /// The loop pauses the partitions of `pausable`.
        case pause
        /// The loop resumes the partitions that `resume` returns.
        case resume
    }

    /// The gate's decision on a new record.
    enum Taken: Equatable, Sendable {
        /// The record begins.
        case admitted
        /// The record has a place in the window, but does not begin yet.
        case pending
        /// The record came during the pause, from a partition that could not be paused before its first record. The
        /// record gets its place in the window when the pause ends.
        case deferred
        /// The record's partition is not assigned to this worker.
        case unassigned
    }

    private enum State {
        /// The window has free places. The next state is `full`.
        case open
        /// The window has no free place. The next state is `open` when a place is free, or `paused` after a second.
        case full(since: Double)
        /// All partitions that fetched are paused. The loop still polls, so that the group does not remove this member.
        /// The next state is `open`, once half of the places are free, not counting the places of retrying records.
        case paused
    }

    private var state = State.open
    private var window: IntakeWindow
    private var partitions: [TopicPartition: PartitionIntake] = [:]
    /// True if a record came, or `resume` was called, since `takeStarving` last listed the partitions.
    private var hasCome = false

    init(maximumRecords: Int) {
        window = IntakeWindow(maximumRecords: maximumRecords)
    }

    var isPaused: Bool { if case .paused = state { true } else { false } }
    var isFull: Bool { window.isFull }
    var records: Int { window.records }
    var bytes: Int { window.bytes }

    /// True if no record is in flight. Every record in the window is then pending.
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

    /// Makes sure that no further record of the partition begins.
    mutating func close(_ partition: TopicPartition) { partitions[partition]?.close() }

    /// Returns whether the partition is assigned and its records may begin now or later.
    func isTaking(_ partition: TopicPartition) -> Bool { partitions[partition].map { !$0.isClosed } ?? false }

    mutating func forget(_ partition: TopicPartition) {
        guard let gone = partitions.removeValue(forKey: partition) else { return }
        for record in gone.pending { window.release(bytes: record.byteCount) }
    }

    /// Notes that the consumer was closed, which ended all pauses.
    mutating func reopen() { state = .open }

    /// Returns the offset of the next record to read. Nil if neither a record nor the log's end came since the
    /// assignment.
    func next(of partition: TopicPartition) -> Int64? { partitions[partition]?.next }

    /// Notes that the log now ends at `offset`, as librdkafka reports.
    mutating func ended(_ partition: TopicPartition, at offset: Int64) { partitions[partition]?.ended(at: offset) }

    /// Returns the offset before which the log needs no more work, given that every record before `position` is
    /// decided. If the log ends in a Kafka transaction's marker, this can be the offset after the marker, which the
    /// worker never commits.
    func reached(in partition: TopicPartition, decided position: Int64?) -> Int64? {
        partitions[partition].map { $0.reached(decided: position) } ?? position
    }

    /// Returns whether the worker accepts records of the partition now: the window has a free place, and the partition
    /// is neither paused nor closed.
    func mayCome(from partition: TopicPartition) -> Bool {
        guard !isPaused, !isFull, let intake = partitions[partition] else { return false }
        return !intake.isClosed && !intake.isPaused
    }

    /// Returns the partitions that fetch, each with its next offset. Later calls return no partition until another
    /// record comes or `resume` is called.
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

    /// Makes the offset after `last` the partition's next offset. The last taken record represents a whole unreadable
    /// batch, whose last offset is `last`.
    mutating func stepOver(to last: Int64, of partition: TopicPartition) { partitions[partition]?.came(to: last + 1) }

    /// Admits the first pending record, and returns it; nil if no record may begin now.
    mutating func admitNext(of partition: TopicPartition, _ admission: CrashIsolation.Admission) -> ConsumerRecord? {
        partitions[partition]?.admitNext(admission)
    }

    /// Returns the offset of the first pending record; nil if there is none, or if no record of the partition may begin
    /// yet.
    func firstPending(of partition: TopicPartition) -> Int64? {
        guard let intake = partitions[partition], intake.isOpen else { return nil }
        return intake.pending.first?.offset
    }

    func isOpen(_ partition: TopicPartition) -> Bool { partitions[partition]?.isOpen ?? false }

    /// Admits the first pending record for isolation, and returns it; nil if no record is pending.
    mutating func admitIsolated(of partition: TopicPartition) -> ConsumerRecord? {
        partitions[partition]?.admitFirst()
    }

    /// Frees the place of a record whose work has ended, even if this worker no longer owns the partition.
    mutating func release(bytes: Int) { window.release(bytes: bytes) }
}

// MARK: - Pausing

extension IntakeGate {
    /// Returns the loop's next step.
    /// - Parameter held: the places of retrying records and of the submissions that wait for them. These places may
    ///   stay taken for long, so a paused gate does not wait for them.
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

    /// The partitions that fetch, and can therefore be paused. A new partition can be paused only after its first
    /// record. If a pause came before librdkafka's command to start fetching, librdkafka would drop that command, and
    /// never fetch.
    var pausable: [TopicPartition] { partitions.filter { $0.value.fetching == .running }.map(\.key) }

    mutating func paused(_ paused: [TopicPartition]) {
        state = .paused
        for partition in paused { partitions[partition]?.fetching = .paused }
    }

    /// Gives deferred records (which came during the pause) their places. Returns the partitions to resume. Call
    /// `resumed` when the consumer has resumed them.
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

    /// Notes that the consumer resumed these partitions. Other partitions may still be paused, because deferred records
    /// took all places. Those partitions wait for the next `resume`.
    mutating func resumed(_ resumed: [TopicPartition]) {
        for partition in resumed { partitions[partition]?.fetching = .running }
        if partitions.values.contains(where: { $0.fetching == .paused }) { state = .paused }
    }

    /// Returns whether the partition has enough pending records and must be paused by itself. Records that wait for
    /// isolation, or for progress in Kafka, must not fill the window.
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

    /// Returns whether to resume the partition. Call `resumedBacklogged` when the consumer has resumed it. Returns
    /// false while all partitions are paused. The partition then resumes together with the others.
    mutating func mayResumeBacklogged(_ partition: TopicPartition, _ admission: CrashIsolation.Admission) -> Bool {
        guard let intake = partitions[partition], !intake.hasEnoughPending(for: admission) else { return false }
        if isPaused { partitions[partition]?.fetching = .paused }
        return !isPaused
    }

    mutating func resumedBacklogged(_ partition: TopicPartition) { partitions[partition]?.fetching = .running }
}
