import Kafka

/// Decides which records to isolate. An isolated record may have killed a process. So while the worker works on it, the
/// process works on no other record, and on no parked or held row.
///
/// Before the worker begins an isolated record, it commits metadata that names the record. The metadata also says
/// whether the record is at work or waits. So the partition's next owner can see whether the last owner died while the
/// record was at work. After three such deaths the record is set aside: the worker parks a submission in PostgreSQL,
/// and makes any other record a dead letter. After a fourth death a submission becomes a dead letter too. A death does
/// not count against a record that was in flight with others, or that waited for Apple or the database.
///
/// The struct calls no other part: the consumer's thread passes events to its methods and carries out their results.
struct CrashIsolation: Sendable {
    /// If a partition has no record to isolate for this number of seconds, its crash history is cleared.
    static let idleSeconds = 10.0

    /// The limit on a partition's records that may begin without isolation.
    enum Admission: Equatable, Sendable {
        case unlimited
        /// This many records may begin until this owner's progress is committed in Kafka.
        case first(Int)
        /// No record begins unless `next` isolates it. The worker needs only `pending` records of the partition in
        /// memory, because later records begin only after the isolation.
        case isolated(pending: Int)
    }

    /// A partition whose next record may be isolated.
    struct Candidate: Sendable {
        let partition: TopicPartition
        /// The offset of the partition's first pending record; nil if none is pending.
        let next: Int64?
        /// True if the partition's log has no more records.
        let isAtEnd: Bool
    }

    enum Action: Equatable, Sendable {
        /// The worker must commit the metadata, call `isolated(_:of:)`, and begin the record.
        case isolate(Int64, of: TopicPartition, metadata: String)
        case deadLetter(Int64, of: TopicPartition, deaths: Int)
    }

    enum Change: Equatable, Sendable {
        case began(records: Int)
        case ended
    }

    private enum State {
        /// Records are taken concurrently. The next state is `choosing`.
        case inactive
        /// No record is isolated now, and the worker looks for the next record to isolate. The next state is
        /// `isolating` or `inactive`.
        case choosing(notBefore: Double)
        /// One record is isolated. When nothing is in flight any more, the next state is `choosing`.
        case isolating(TopicPartition)
    }

    private struct Partition {
        /// The metadata that earlier owners left in Kafka.
        let inherited: String
        var history: CrashHistory
        /// The time since which the partition has had no record to isolate, in monotonic seconds; nil if it has such a
        /// record.
        var idleSince: Double?
    }

    /// The number of deaths after which an isolated record becomes a dead letter.
    private let deathsOfDeadLetter: Int
    private var state = State.inactive
    private var partitions: [TopicPartition: Partition] = [:]
    /// True while another reader of records (a member of the `IsolationTurn`) has the turn to isolate a record, or is
    /// the first to wait for the turn. No record of this topic begins meanwhile.
    var isHeldBack = false

    init(deathsOfDeadLetter: Int = CrashHistory.deathsOfPoison) { self.deathsOfDeadLetter = deathsOfDeadLetter }

    /// True if records begin only in isolation, or not at all.
    var isRestricted: Bool { isActive || isHeldBack }

    var isActive: Bool { if case .inactive = state { false } else { true } }

    /// The isolated record on which the worker works now, so that a death counts against the record; nil if there is
    /// none.
    var suspectAtWork: CrashHistory.Suspect? {
        for partition in partitions.values {
            if let suspect = partition.history.suspect, suspect.isAtWork { return suspect }
        }
        return nil
    }

    var hasSuspectAtWork: Bool { suspectAtWork != nil }

    /// True if a record is isolated and its work waits, for example for Apple.
    var hasWaitingSuspect: Bool {
        guard case .isolating(let partition) = state else { return false }
        return partitions[partition]?.history.suspect?.isAtWork == false
    }

    func history(of partition: TopicPartition) -> CrashHistory? { partitions[partition]?.history }
}

// MARK: - A partition's owners

extension CrashIsolation {
    /// Reads the earlier owners' metadata, and counts this owner's start.
    /// - Parameter departures: the database's count of owners that left in order; nil if the database does not answer.
    mutating func assigned(_ partition: TopicPartition, metadata: String, departures: Int64?) {
        var history = CrashHistory(metadata: metadata)
        history.begin(departures: departures)
        partitions[partition] = Partition(inherited: metadata, history: history)
    }

    /// Reads the earlier owners' metadata again, before the first record is admitted. At the assignment, the database
    /// may not have answered, or may have lacked the last owner's departure and decisions. If the last owner died while
    /// it worked on an isolated record, returns that record; otherwise nil.
    /// - Parameter decidedBefore: the offset before which the database has every decision; nil if unknown.
    mutating func prepared(
        _ partition: TopicPartition, departures: Int64, decidedBefore: Int64?
    ) -> CrashHistory.Suspect? {
        guard let inherited = partitions[partition]?.inherited else { return nil }
        assigned(partition, metadata: inherited, departures: departures)
        if let decidedBefore { partitions[partition]?.history.acquit(before: decidedBefore) }
        guard let suspect = partitions[partition]?.history.suspect,
            suspect.deaths > CrashHistory(metadata: inherited).suspect?.deaths ?? 0
        else { return nil }
        return suspect
    }

    /// Notes that this owner leaves the partition in order, without a crash.
    /// - Parameter departures: the database's count, including this departure; nil if the database did not count it.
    mutating func leave(_ partition: TopicPartition, departures: Int64?) {
        partitions[partition]?.history.leave(departures: departures)
    }

    mutating func forget(_ partition: TopicPartition) { partitions[partition] = nil }

    /// Returns the metadata for this owner's commit, which the next owner will read; empty if there is no history.
    /// - Parameter hasMoved: true if the committed offset differs from this owner's start.
    func metadata(of partition: TopicPartition, hasMoved: Bool) -> String {
        guard let history = partitions[partition]?.history else { return "" }
        return hasMoved && history.remaining == 0 ? "" : history.metadata
    }
}

// MARK: - Records

extension CrashIsolation {
    /// Returns the limit for the partition's records.
    /// - Parameter awaitsProgress: the partition's `PartitionProgress.awaitsProgress`.
    func admission(to partition: TopicPartition, awaitsProgress: Bool) -> Admission {
        if isHeldBack { return .isolated(pending: 0) }
        let mode = partitions[partition]?.history.mode ?? .concurrent
        if isActive {
            guard case .isolated(let remaining) = mode else { return .isolated(pending: 0) }
            return .isolated(pending: remaining)
        }
        return mode == .limited && awaitsProgress ? .first(CrashHistory.isolatedRecords) : .unlimited
    }

    /// Notes that a record's outcome is durable, so the partition has one record fewer to isolate.
    mutating func finished(_ partition: TopicPartition) {
        guard let index = partitions.index(forKey: partition) else { return }
        if partitions.values[index].history.remaining > 0 { partitions.values[index].history.pass() }
    }

    /// Begins isolation if a partition has records to isolate. Ends isolation if no partition has such records. Call
    /// this after every change of the assignment, and when nothing is in flight.
    mutating func update() -> Change? {
        let remaining = partitions.values.reduce(0) { $0 + $1.history.remaining }
        switch (isActive, remaining > 0) {
        case (false, true):
            state = .choosing(notBefore: 0)
            return .began(records: remaining)
        case (true, false):
            state = .inactive
            return .ended
        case (false, false), (true, true): return nil
        }
    }

    /// Returns the metadata to commit before the isolated record continues (`isAtWork`) or begins to wait. Returns nil
    /// if no record is isolated.
    func metadata(ofSuspectAtWork isAtWork: Bool) -> (partition: TopicPartition, metadata: String)? {
        guard case .isolating(let partition) = state, var history = partitions[partition]?.history,
            history.suspect != nil
        else { return nil }
        history.suspectIs(atWork: isAtWork)
        return (partition, history.metadata)
    }

    /// Notes that Kafka has the metadata that `metadata(ofSuspectAtWork:)` returned.
    mutating func suspectIs(atWork isAtWork: Bool) {
        guard case .isolating(let partition) = state else { return }
        partitions[partition]?.history.suspectIs(atWork: isAtWork)
    }

    /// Ends the isolation of a record. Call it when nothing is in flight. Returns the record's partition; nil if no
    /// record was isolated.
    mutating func takeEnded() -> TopicPartition? {
        guard case .isolating(let partition) = state else { return nil }
        state = .choosing(notBefore: 0)
        return partition
    }

    /// Returns the next record to isolate or to make a dead letter; nil if there is none now. Call it when nothing is
    /// in flight.
    mutating func next(among candidates: [Candidate], now: Double) -> Action? {
        _ = takeEnded()
        guard case .choosing(let notBefore) = state, now >= notBefore else { return nil }
        for candidate in candidates.sorted(by: { $0.partition < $1.partition }) {
            guard var partition = partitions[candidate.partition], partition.history.remaining > 0 else { continue }
            defer { partitions[candidate.partition] = partition }
            guard let offset = candidate.next else {
                Self.wait(for: &partition, isAtEnd: candidate.isAtEnd, now: now)
                continue
            }
            partition.idleSince = nil
            let deaths = partition.history.deaths(of: offset)
            if deaths >= deathsOfDeadLetter { return .deadLetter(offset, of: candidate.partition, deaths: deaths) }
            // If the worker cannot commit the metadata, the record does not begin, and `next` returns the record again
            // later.
            state = .choosing(notBefore: now + PipelineLimits.namingRetrySeconds)
            var history = partition.history
            history.isolate(offset)
            return .isolate(offset, of: candidate.partition, metadata: history.metadata)
        }
        return nil
    }

    /// If the partition has no record to isolate, clears its crash history at the log's end or after `idleSeconds`.
    private static func wait(for partition: inout Partition, isAtEnd: Bool, now: Double) {
        let since = partition.idleSince ?? now
        partition.idleSince = since
        if isAtEnd || now - since > Self.idleSeconds { partition.history = CrashHistory() }
    }

    /// Notes that Kafka has the metadata, so the isolated record begins.
    mutating func isolated(_ offset: Int64, of partition: TopicPartition) {
        partitions[partition]?.history.isolate(offset)
        state = .isolating(partition)
    }
}
