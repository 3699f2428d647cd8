import Fulfillment
import Kafka
import PlantedFaults

/// Decides **up to which offset** a partition is committed; no other part decides that. `OffsetCommitter` chooses the
/// time for submissions, and `BatchedTopicOffsets` for the other topics.
///
/// The worker commits no offset in Kafka above the lower of two offsets:
///
/// 1. the offset before which this owner has *finished* every record that it read
/// 2. the offset that this owner has *checkpointed*, by a compare-and-set on the partition's row. The database must
///   have the same history as when those records were decided. Another owner's row never counts.
///
/// Decisions may be lost if the row does not have this owner's last write, or if a decision and its checkpoint are in
/// different histories. Then the partition *restarts* at the lower of Kafka's committed offset and the database's
/// checkpoint. The worker may always commit the start of a partition again, because an earlier owner committed every
/// offset before the start.
///
/// The struct calls no other part: the consumer's thread passes events to its methods and carries out their results.
struct PartitionProgress: Sendable {
    /// The reason to read the partition again from the lower of Kafka's committed offset and the checkpoint.
    enum Restart: String, Sendable {
        case databaseFellBack = "PostgreSQL fell back to an earlier state, or another database answers"
        case otherHistory = "PostgreSQL was restarted, failed over or restored between a decision and its checkpoint"
        case otherOwner = "another worker has written this partition's checkpoint"
        case lowerCheckpoint = "PostgreSQL answered late, with a checkpoint below the start of the partition"
    }

    /// A checkpoint under way to the database.
    private struct PendingWrite {
        let write: CheckpointWrite
        let epoch: Int
        /// The history in which the checkpointed decisions were made.
        let decidedIn: DatabaseHistory?
    }

    /// The offset at which this owner started to read; nil if unknown.
    let start: Int64?
    /// The number of times that the partition's offsets went back under this owner. If a record of an earlier epoch
    /// finishes, its offset does not count for the position.
    private(set) var epoch = 0

    private var tracker = OffsetTracker()
    /// The number of unfinished records of earlier epochs.
    private var unfinishedOfEarlierEpochs = 0

    private let writer: Int64
    /// The row as this owner knows it. The outer nil means that the database has not answered yet. The inner nil means
    /// that there is no row.
    private var row: OffsetCheckpoint??
    /// The last offset that this owner checkpointed in this epoch; nil if there is none.
    private(set) var checkpointed: Int64?
    /// The database's history in which records were decided since the last checkpoint was sent; nil if none was
    /// decided.
    private var decidedIn: DatabaseHistory?
    private var pendingWrite: PendingWrite?

    /// The offset and metadata that Kafka certainly has; nil if there are none.
    private(set) var committed: CommitMark?
    /// The commit under way; nil if there is none.
    private(set) var pendingCommit: CommitMark?

    /// True if the group had committed an offset before this owner started.
    private let hadCommitted: Bool

    /// - Parameters:
    ///   - row: the row as read when the partition was assigned; the outer nil if the database did not answer.
    ///   - writer: a random number that identifies this owner in the row.
    init(start: Int64?, committed: CommitMark?, row: OffsetCheckpoint??, writer: Int64) {
        self.start = start
        self.committed = committed
        hadCommitted = committed != nil
        self.row = row
        self.writer = writer
    }
}

// MARK: - The start

extension PartitionProgress {
    /// Returns the start of a partition: the lower of Kafka's committed offset and the checkpoint, but not below the
    /// log's first offset. Workers commit nothing without a checkpoint. So if there is no row, the database's state is
    /// from before the first commit, and the worker reads the whole log again.
    /// - Parameters:
    ///   - row: the checkpoint; the outer nil if the database did not answer.
    ///   - log: the first offset in the log, and the offset after its last record; nil if the broker did not answer.
    ///   - lowered: the highest offset at which the partition may start, if its last start was too high; otherwise nil.
    static func start(
        committed: Int64, row: OffsetCheckpoint??, log: (low: Int64, high: Int64)?, lowered: Int64? = nil
    ) -> Int64 {
        var checkpoint = row.map { $0?.nextOffset ?? 0 }
        // A checkpoint above the log's end belongs to an earlier topic of this name: the database was restored to a
        // time before the topic was created again.
        if let log, committed <= log.high, let known = checkpoint, known > log.high { checkpoint = 0 }
        guard let known = [checkpoint, lowered].compactMap({ $0 }).min(), known < committed else { return committed }
        return max(known, min(log?.low ?? known, committed))
    }
}

// MARK: - Records

extension PartitionProgress {
    /// The offset after the last admitted record, finished or not.
    var end: Int64? { tracker.end }

    /// Begins a new epoch if the record's offset is below `end`. Returns whether a new epoch began. Such an offset
    /// means that the topic was deleted and created again, or was truncated, or that librdkafka delivers records twice.
    /// Kafka may not deliver the records of earlier epochs again. So the worker commits no offset until those records
    /// are finished. Call this before the record is admitted.
    mutating func beginsNewEpoch(at offset: Int64) -> Bool {
        guard let end = tracker.end, offset < end else { return false }
        unfinishedOfEarlierEpochs += tracker.unfinishedCount
        tracker = OffsetTracker()
        epoch += 1
        checkpointed = nil
        return true
    }

    mutating func admit(_ offset: Int64) { tracker.admit(offset) }

    /// Makes the last admitted record cover all offsets up to `last`, because one dead letter represents a whole
    /// unreadable batch.
    mutating func stepOver(to last: Int64) {
        guard let end = tracker.end, last >= end else { return }
        tracker.admit(last)
        tracker.finish(last)
    }

    /// Notes that the record's outcome is durable. An abandoned record never finishes, so this owner commits no offset
    /// above the record's offset.
    /// - Parameter decidedIn: the history of the database that has the outcome; nil if only a broker's acknowledgement
    ///   makes the outcome durable.
    mutating func finish(_ offset: Int64, epoch: Int, decidedIn history: DatabaseHistory?) -> Restart? {
        if epoch == self.epoch { tracker.finish(offset) } else { unfinishedOfEarlierEpochs -= 1 }
        return decided(in: history)
    }

    /// The offset before which every record is finished; nil if unknown.
    var position: Int64? {
        if PlantedFault.commitAhead.isPlanted, let end = tracker.end { return end }
        if unfinishedOfEarlierEpochs == 0, let committable = tracker.committable { return committable }
        return epoch == 0 && tracker.end == nil ? start : nil
    }

    private mutating func decided(in history: DatabaseHistory?) -> Restart? {
        guard let history, !PlantedFault.earlierHistoryCounts.isPlanted else { return nil }
        if let decidedIn, decidedIn != history { return .otherHistory }
        decidedIn = history
        return nil
    }
}

// MARK: - The database's checkpoint

extension PartitionProgress {
    /// True if the database has returned the partition's row, or answered that there is none.
    var isRowKnown: Bool { row != nil }

    /// Takes the checkpoint row from a later read, if the database did not answer when the partition was assigned.
    /// Returns a reason to restart if the row's offset is below the start. Call it before the first record is admitted.
    mutating func rowWasRead(late found: OffsetCheckpoint?) -> Restart? {
        guard row == nil else { return nil }
        row = .some(found)
        // If the group had committed nothing, it started at the earliest record, whatever the row says.
        guard let start, hadCommitted else { return nil }
        return found.map { $0.nextOffset < start } ?? (start > 0) ? .lowerCheckpoint : nil
    }

    /// Returns the write that is due. Returns nil if the row already covers the position, if a write is under way, or
    /// if the row or the position is unknown.
    mutating func beginCheckpoint() -> (write: CheckpointWrite, decidedIn: DatabaseHistory?)? {
        guard pendingWrite == nil, let row, let position, position != secured else { return nil }
        let write = CheckpointWrite(
            expected: row,
            new: OffsetCheckpoint(nextOffset: position, writer: writer, version: (row?.version ?? 0) + 1))
        pendingWrite = PendingWrite(write: write, epoch: epoch, decidedIn: decidedIn)
        defer { decidedIn = nil }
        return (write, decidedIn)
    }

    /// The offset before which the row in the database covers this owner's records; nil if it covers none.
    private var secured: Int64? {
        if let checkpointed { return checkpointed }
        guard epoch == 0, let start, case .some(.some(let row)) = row, row.nextOffset == start else { return nil }
        return start
    }

    /// Ends a write. Returns a reason if the partition must restart; otherwise nil.
    /// - Parameter result: the database's answer. Nil if it did not answer, and may have written the checkpoint.
    mutating func endCheckpoint(_ write: CheckpointWrite, partition: Int32, _ result: CheckpointResult?) -> Restart? {
        guard let pending = pendingWrite, pending.write == write else { return nil }
        pendingWrite = nil
        guard let result else { return decided(in: pending.decidedIn) }
        if let decided = pending.decidedIn, decided != result.history { return .otherHistory }
        if let found = result.refused[partition] {
            // A refused write covers none of its decisions, so the next write must cover them.
            return decided(in: pending.decidedIn) ?? reconcile(with: found)
        }
        row = .some(write.new)
        if pending.epoch == epoch { checkpointed = write.new.nextOffset }
        return nil
    }

    /// The row to compare with the database's row; nil if a write is under way, or if the row is unknown.
    var verifiableRow: OffsetCheckpoint?? { pendingWrite == nil ? row : nil }

    /// Compares the row with the database's row. So the worker notices that the database fell back to an earlier state
    /// even if no record comes.
    /// - Parameter asked: `verifiableRow` before the query. If it has changed since, `found` is ignored.
    mutating func verify(
        _ found: OffsetCheckpoint?, in history: DatabaseHistory, asked: OffsetCheckpoint?
    ) -> Restart? {
        guard case .some(let row) = verifiableRow, row == asked else { return nil }
        if let decidedIn, decidedIn != history { return .otherHistory }
        return reconcile(with: found)
    }

    /// - Parameter found: the row's content in the database.
    private mutating func reconcile(with found: OffsetCheckpoint?) -> Restart? {
        guard case .some(let expected) = row, found != expected, !PlantedFault.checkpointNotCompared.isPlanted
        else { return nil }
        guard let found, found.version > expected?.version ?? 0 else { return .databaseFellBack }
        // A newer row is no fault in two cases: this owner wrote the row and got no answer, or the last owner wrote the
        // row after this owner had read it.
        let isOwn = found.writer == writer
        let isPredecessors = expected?.writer != writer && (expected == nil || found.writer == expected?.writer)
        guard isOwn || isPredecessors else { return .otherOwner }
        row = .some(found)
        return nil
    }
}

// MARK: - Kafka's commit

extension PartitionProgress {
    /// The offset that may be committed now; nil if there is none. It can go down, because a topic that was created
    /// again starts at 0.
    var committable: Int64? {
        if PlantedFault.commitWithoutCheckpoint.isPlanted { return position }
        guard let position, let secured = checkpointed ?? (epoch == 0 ? start : nil) else { return nil }
        return min(position, secured)
    }

    /// True while Kafka's committed offset is this owner's start, or the group never committed. False if the start is
    /// unknown.
    var awaitsProgress: Bool { start != nil && committed.map { $0.offset == start } ?? true }

    /// True if Kafka has, or will soon have, metadata from which the next owner could conclude that this owner died.
    var hasMetadata: Bool { committed?.metadata.isEmpty == false || pendingCommit?.metadata.isEmpty == false }

    /// Returns the commit that is due; nil if Kafka has it already, or if no offset may be committed.
    /// - Parameter metadata: returns the metadata for the next owner. `hasMoved` is true if the offset differs from the
    ///   start.
    func commitDue(metadata: (_ hasMoved: Bool) -> String) -> CommitMark? {
        guard let offset = committable else { return nil }
        let mark = CommitMark(offset: offset, metadata: metadata(offset != start))
        return mark == committed ? nil : mark
    }

    mutating func commitWasSent(_ mark: CommitMark) { pendingCommit = mark }

    /// Notes that Kafka committed this offset. Returns false if no commit of this offset was under way.
    mutating func commitSucceeded(at offset: Int64) -> Bool {
        guard let mark = pendingCommit, mark.offset == offset else { return false }
        commitSucceeded(mark)
        return true
    }

    mutating func commitSucceeded(_ mark: CommitMark) {
        committed = mark
        pendingCommit = nil
    }

    mutating func commitFailed() { pendingCommit = nil }
}
