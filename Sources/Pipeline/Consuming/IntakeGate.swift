import DequeModule
import Kafka

/// Decides which records may begin, and which partitions are read meanwhile. Memory may hold no more than the window
/// allows, and no record may begin before its partition is ready.
///
/// A value: the consumer's thread hands events in, and does what is returned.
struct IntakeGate: Sendable {
    /// The seconds without polling before partitions are paused, which throws the prefetch away.
    static let fullBeforePauseSeconds = 1.0

    /// A condition for a partition's first record to begin.
    enum Prerequisite: Sendable {
        /// The outbox is swept and the checkpoint is read.
        case preparation
        /// Kafka has this owner's start, or refuses it. A record that kills the process at once must not do so unseen.
        case startCommit
    }

    /// The next thing to do.
    enum Turn: Equatable, Sendable {
        case poll
        /// Nothing is polled for a moment, which keeps what librdkafka has fetched.
        case wait
        /// All partitions that `pausable` names are paused.
        case pause
        /// Partitions are resumed: `resume` returns them.
        case resume
    }

    /// The gate's answer to a new record.
    enum Taken: Equatable, Sendable {
        /// The record begins.
        case admitted
        /// The record has its place in memory and waits.
        case pending
        /// The record came while everything was to be paused, and gets its place when that ends. It is the one record
        /// that shows that its partition can be paused.
        case deferred
        /// The partition is not this worker's.
        case unassigned
    }

    private enum State {
        /// The next state is `full`.
        case open
        /// The next state is `open` as soon as there is a place, or `paused` after a second.
        case full(since: Double)
        /// Polling goes on, so that the group does not think this member dead. The next state is `open`, once half of
        /// the window is free beside what retries.
        case paused
    }

    private var state = State.open
    private var window: IntakeWindow
    private var partitions: [TopicPartition: PartitionIntake] = [:]
    /// True if a record came since librdkafka was last asked to fetch.
    private var hasCome = false

    init(maximumRecords: Int) {
        window = IntakeWindow(maximumRecords: maximumRecords)
    }

    var isPaused: Bool { if case .paused = state { true } else { false } }
    var isFull: Bool { window.isFull }
    var records: Int { window.records }
    var bytes: Int { window.bytes }

    /// True if nothing is in flight: everything in memory waits.
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

    /// Lets nothing of the partition begin any more.
    mutating func close(_ partition: TopicPartition) { partitions[partition]?.close() }

    /// Returns whether the partition exists and a record of it may begin now or later.
    func isTaking(_ partition: TopicPartition) -> Bool { partitions[partition].map { !$0.isClosed } ?? false }

    mutating func forget(_ partition: TopicPartition) {
        guard let gone = partitions.removeValue(forKey: partition) else { return }
        for record in gone.pending { window.release(bytes: record.byteCount) }
    }

    /// Notes that the consumer is gone, and with it all pauses.
    mutating func reopen() { state = .open }

    /// Returns the offset that is read next; nil if neither a record nor the log's end came under this assignment.
    func next(of partition: TopicPartition) -> Int64? { partitions[partition]?.next }

    /// Notes that the log ends there for now, as librdkafka says.
    mutating func ended(_ partition: TopicPartition, at offset: Int64) { partitions[partition]?.ended(at: offset) }

    /// Returns the place up to which the log is done with, if everything before `position` is decided. It is not to be
    /// committed.
    func reached(in partition: TopicPartition, decided position: Int64?) -> Int64? {
        partitions[partition].map { $0.reached(decided: position) } ?? position
    }

    /// Returns whether nothing on this side keeps the partition's records from coming.
    func mayCome(from partition: TopicPartition) -> Bool {
        guard !isPaused, !isFull, let intake = partitions[partition] else { return false }
        return !intake.isClosed && !intake.isPaused
    }

    /// Returns the partitions that fetch, each with the offset of its next record, once until the next record comes.
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

    /// Lets the record taken last represent all up to that offset.
    mutating func stepOver(to last: Int64, of partition: TopicPartition) { partitions[partition]?.came(to: last + 1) }

    /// Admits one pending record; nil where none may begin now.
    mutating func admitNext(of partition: TopicPartition, _ admission: CrashIsolation.Admission) -> ConsumerRecord? {
        partitions[partition]?.admitNext(admission)
    }

    /// Returns the offset of the first waiting record in a partition that is ready; nil if there is none.
    func firstPending(of partition: TopicPartition) -> Int64? {
        guard let intake = partitions[partition], intake.isOpen else { return nil }
        return intake.pending.first?.offset
    }

    func isOpen(_ partition: TopicPartition) -> Bool { partitions[partition]?.isOpen ?? false }

    /// Lets the first waiting record begin alone.
    mutating func admitIsolated(of partition: TopicPartition) -> ConsumerRecord? {
        partitions[partition]?.admitFirst()
    }

    /// Gives a record's place back, whoever has its partition now.
    mutating func release(bytes: Int) { window.release(bytes: bytes) }
}

// MARK: - Pausing

extension IntakeGate {
    /// - Parameter held: the places of records that retry, and may do so for long.
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

    /// The partitions that have begun to fetch. A newly assigned one is paused when its first record shows that it
    /// fetches. If a pause overtakes the order to start fetching, librdkafka drops the order for good.
    var pausable: [TopicPartition] { partitions.filter { $0.value.fetching == .running }.map(\.key) }

    mutating func paused(_ paused: [TopicPartition]) {
        state = .paused
        for partition in paused { partitions[partition]?.fetching = .paused }
    }

    /// Gives deferred records places. Returns the partitions to fetch again; call `resumed` for them.
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

    /// Notes resumed partitions. If there were more partitions than places, the rest waits for the next time.
    mutating func resumed(_ resumed: [TopicPartition]) {
        for partition in resumed { partitions[partition]?.fetching = .running }
        if partitions.values.contains(where: { $0.fetching == .paused }) { state = .paused }
    }

    /// Returns whether the partition has enough pending records. If they wait for something else than room, they must
    /// not fill the window.
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

    /// Returns whether the partition is to be fetched again; call `resumed` then. While all are paused, it goes on with
    /// the others.
    mutating func mayResumeBacklogged(_ partition: TopicPartition, _ admission: CrashIsolation.Admission) -> Bool {
        guard let intake = partitions[partition], !intake.hasEnoughPending(for: admission) else { return false }
        if isPaused { partitions[partition]?.fetching = .paused }
        return !isPaused
    }

    mutating func resumedBacklogged(_ partition: TopicPartition) { partitions[partition]?.fetching = .running }
}
