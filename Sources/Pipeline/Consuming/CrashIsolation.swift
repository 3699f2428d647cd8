import Kafka

/// Decides which records are isolated. Records that may have killed the process are taken one at a time, with nothing
/// else in flight in the whole process.
///
/// Before the record begins, Kafka knows which record that is, and later whether it is at work or only waits for an
/// answer. So the next owner finds that the last one died while the record was at work. Three such deaths set a record
/// aside, and a fourth makes a submission a dead letter. Neither happens to a record that was in flight with others,
/// nor to one that waited for Apple or the database.
///
/// A value: the consumer's thread hands events in, and does what is returned.
struct CrashIsolation: Sendable {
    /// The seconds to wait for a record to isolate, in a partition that may have none.
    static let idleSeconds = 10.0

    /// How many of a partition's records may begin by themselves.
    enum Admission: Equatable, Sendable {
        case unlimited
        /// The owner's first records may begin, until Kafka knows of progress.
        case first(Int)
        /// No record is isolated yet. No more than so many need be pending, because others come before they could
        /// begin.
        case isolated(pending: Int)
    }

    /// A partition whose next record may be isolated.
    struct Candidate: Sendable {
        let partition: TopicPartition
        /// The offset of its next record; nil if none is pending.
        let next: Int64?
        /// True if its log has no more records.
        let isAtEnd: Bool
    }

    enum Action: Equatable, Sendable {
        /// The record may begin once the metadata is committed: `isolated(_:of:)`.
        case isolate(Int64, of: TopicPartition, metadata: String)
        case deadLetter(Int64, of: TopicPartition, deaths: Int)
    }

    enum Change: Equatable, Sendable {
        case began(records: Int)
        case ended
    }

    private enum State {
        /// Records are taken side by side. The next state is `choosing`.
        case inactive
        /// The next record to isolate is looked for. The next state is `isolating` or `inactive`.
        case choosing(notBefore: Double)
        /// One record was isolated. The next state is `choosing`, when nothing is in flight any more, or `inactive`.
        case isolating(TopicPartition)
    }

    private struct Partition {
        /// The earlier owners' message in Kafka.
        let inherited: String
        var history: CrashHistory
        /// The time since which no record came that could be isolated; nil if one came.
        var idleSince: Double?
    }

    /// The deaths of the process with one record isolated after which that record is a dead letter.
    private let deathsOfDeadLetter: Int
    private var state = State.inactive
    private var partitions: [TopicPartition: Partition] = [:]
    /// True while a record of another topic is isolated. No record here begins meanwhile.
    var isHeldBack = false

    init(deathsOfDeadLetter: Int = CrashHistory.deathsOfPoison) { self.deathsOfDeadLetter = deathsOfDeadLetter }

    /// True if records do not begin by themselves.
    var isRestricted: Bool { isActive || isHeldBack }

    var isActive: Bool { if case .inactive = state { false } else { true } }

    /// The record at work against which a death would count; nil if there is none.
    var suspectAtWork: CrashHistory.Suspect? {
        for partition in partitions.values {
            if let suspect = partition.history.suspect, suspect.isAtWork { return suspect }
        }
        return nil
    }

    var hasSuspectAtWork: Bool { suspectAtWork != nil }

    /// True if one record is isolated and only waits.
    var hasWaitingSuspect: Bool {
        guard case .isolating(let partition) = state else { return false }
        return partitions[partition]?.history.suspect?.isAtWork == false
    }

    func history(of partition: TopicPartition) -> CrashHistory? { partitions[partition]?.history }
}

// MARK: - A partition's owners

extension CrashIsolation {
    /// Notes the earlier owners' message, with this owner's start.
    /// - Parameter departures: the database's count; nil if it does not answer.
    mutating func assigned(_ partition: TopicPartition, metadata: String, departures: Int64?) {
        var history = CrashHistory(metadata: metadata)
        history.begin(departures: departures)
        partitions[partition] = Partition(inherited: metadata, history: history)
    }

    /// Updates a partition before anything is admitted. The database may not have answered at the assignment, or the
    /// last owner may have been late. Returns the record beside which the last owner died; nil if it did not.
    /// - Parameter decidedBefore: the offset before which the database has everything; nil if unknown.
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

    /// Notes that the owner leaves in order.
    /// - Parameter departures: the database's count with this one; nil if it was not told.
    mutating func leave(_ partition: TopicPartition, departures: Int64?) {
        partitions[partition]?.history.leave(departures: departures)
    }

    mutating func forget(_ partition: TopicPartition) { partitions[partition] = nil }

    /// Returns the message to the next owner in this owner's commit.
    /// - Parameter hasMoved: true if the commit is of another offset than the one at which this owner began.
    func metadata(of partition: TopicPartition, hasMoved: Bool) -> String {
        guard let history = partitions[partition]?.history else { return "" }
        return hasMoved && history.remaining == 0 ? "" : history.metadata
    }
}

// MARK: - Records

extension CrashIsolation {
    /// - Parameter awaitsProgress: true if Kafka has no progress of this owner, nor of the one before it.
    func admission(to partition: TopicPartition, awaitsProgress: Bool) -> Admission {
        if isHeldBack { return .isolated(pending: 0) }
        let mode = partitions[partition]?.history.mode ?? .concurrent
        if isActive {
            guard case .isolated(let remaining) = mode else { return .isolated(pending: 0) }
            return .isolated(pending: remaining)
        }
        return mode == .limited && awaitsProgress ? .first(CrashHistory.isolatedRecords) : .unlimited
    }

    /// Notes that the outcome of one of the partition's records is durable.
    mutating func finished(_ partition: TopicPartition) {
        guard let index = partitions.index(forKey: partition) else { return }
        if partitions.values[index].history.remaining > 0 { partitions.values[index].history.pass() }
    }

    /// Decides again. Call it after every change of the assignment, and when nothing is in flight.
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

    /// Returns the metadata that Kafka must hold before the isolated record goes on (true), or begins to wait (false).
    /// Returns nil if no record is isolated.
    func metadata(ofSuspectAtWork isAtWork: Bool) -> (partition: TopicPartition, metadata: String)? {
        guard case .isolating(let partition) = state, var history = partitions[partition]?.history,
            history.suspect != nil
        else { return nil }
        history.suspectIs(atWork: isAtWork)
        return (partition, history.metadata)
    }

    /// Notes that Kafka holds that metadata.
    mutating func suspectIs(atWork isAtWork: Bool) {
        guard case .isolating(let partition) = state else { return }
        partitions[partition]?.history.suspectIs(atWork: isAtWork)
    }

    /// Ends an isolated record when nothing is in flight. Returns the record's partition; nil if none was isolated.
    mutating func takeEnded() -> TopicPartition? {
        guard case .isolating(let partition) = state else { return nil }
        state = .choosing(notBefore: 0)
        return partition
    }

    /// Returns the next record to isolate when nothing is in flight; nil if none is to begin now.
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
            // The record is not begun without its offset in Kafka.
            state = .choosing(notBefore: now + PipelineLimits.namingRetrySeconds)
            var history = partition.history
            history.isolate(offset)
            return .isolate(offset, of: candidate.partition, metadata: history.metadata)
        }
        return nil
    }

    /// Clears a partition without records, which cannot have killed anyone.
    private static func wait(for partition: inout Partition, isAtEnd: Bool, now: Double) {
        let since = partition.idleSince ?? now
        partition.idleSince = since
        if isAtEnd || now - since > Self.idleSeconds { partition.history = CrashHistory() }
    }

    /// Begins the record, because Kafka has the metadata.
    mutating func isolated(_ offset: Int64, of partition: TopicPartition) {
        partitions[partition]?.history.isolate(offset)
        state = .isolating(partition)
    }
}
