import Fulfillment
import Kafka
import PlantedFaults

/// **Up to where is an offset committed?** This file answers; nothing else decides it. `OffsetCommitter` chooses the
/// time for submissions, and `BatchedTopicOffsets` for the other topics.
///
/// An offset is committed in Kafka only up to the lowest of
///
/// 1. what this owner has read and has *finished*: no record before it is still in flight, and
/// 2. what this owner has *checkpointed* in the database since: by a compare-and-set on the partition's row, in the same
///    history of the database in which those records were decided. A row that somebody else wrote never counts.
///
/// Decisions may be lost if a row does not hold what this owner wrote there last, or if a decision was committed in
/// another history than its checkpoint. Then the partition *restarts* at the lower of Kafka's committed offset and the
/// database's checkpoint. The start of a partition may always be committed again, because an earlier owner committed
/// everything before it.
///
/// A value: the consumer's thread hands events in, and does what is returned.
struct PartitionProgress: Sendable {
    /// The reason why the partition is to be read again from the lower of the two offsets.
    enum Restart: String, Sendable {
        case databaseFellBack = "the database fell back to an earlier state, or another one answers"
        case otherHistory = "decisions and their checkpoint are of different lives of the database"
        case otherOwner = "another worker has written this partition's checkpoint"
        case lowerCheckpoint = "the database answered late, with a lower offset"
    }

    /// A checkpoint on its way to the database.
    private struct PendingWrite {
        let write: CheckpointWrite
        let epoch: Int
        /// The history in which the covered decisions were made.
        let decidedIn: DatabaseHistory?
    }

    /// The offset at which reading began; nil if nobody knows it.
    let start: Int64?
    /// The number of times that offsets fell back under this owner. Records of an earlier epoch finish for themselves.
    private(set) var epoch = 0

    private var tracker = OffsetTracker()
    /// The number of records of earlier epochs that are not finished.
    private var unfinishedOfEarlierEpochs = 0

    private let writer: Int64
    /// The row as this owner knows it. The outer nil: the database has not answered yet; the inner nil: there is no
    /// row.
    private var row: OffsetCheckpoint??
    /// The checkpoint of this owner in this epoch; nil without one.
    private(set) var checkpointed: Int64?
    /// The database's history in which records were decided since the last checkpoint was sent; nil if none were.
    private var decidedIn: DatabaseHistory?
    private var pendingWrite: PendingWrite?

    /// The mark that Kafka is known to have; nil without one.
    private(set) var committed: CommitMark?
    /// The commit on its way; nil without one.
    private(set) var pendingCommit: CommitMark?

    /// True if the group had committed an offset before this owner came.
    private let hadCommitted: Bool

    /// - Parameters:
    ///   - row: the row as it was read when the partition was assigned; the outer nil if the database did not answer.
    ///   - writer: a random number of this owner's own.
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
    /// Returns the start of a partition: Kafka's committed offset, or the checkpoint if that is lower, but nothing that
    /// is no longer in the log. Nothing is committed without a checkpoint. If there is none, the database is from
    /// before the first commit, and everything is read again.
    /// - Parameters:
    ///   - row: the checkpoint; the outer nil if the database did not answer.
    ///   - earliest: the first offset in the log; nil if the broker did not say.
    ///   - lowered: the place at which the partition must start, if an earlier start was found too high; nil otherwise.
    static func start(
        committed: Int64, row: OffsetCheckpoint??, earliest: Int64?, lowered: Int64? = nil
    ) -> Int64 {
        let checkpoint = row.map { $0?.nextOffset ?? 0 }
        guard let known = [checkpoint, lowered].compactMap({ $0 }).min(), known < committed else { return committed }
        return max(known, min(earliest ?? known, committed))
    }
}

// MARK: - Records

extension PartitionProgress {
    /// The offset behind the last record admitted, finished or not.
    var end: Int64? { tracker.end }

    /// Notes a record. Call it before the record is admitted. Returns true if offsets fell back: the topic was deleted
    /// and created or cut off, or librdkafka hands records out a second time. Tracking begins anew. Nothing is
    /// committed until what was admitted before is finished, because it may not come again.
    mutating func beginsNewEpoch(at offset: Int64) -> Bool {
        guard let end = tracker.end, offset < end else { return false }
        unfinishedOfEarlierEpochs += tracker.unfinishedCount
        tracker = OffsetTracker()
        epoch += 1
        checkpointed = nil
        return true
    }

    mutating func admit(_ offset: Int64) { tracker.admit(offset) }

    /// Lets the record that was just admitted represent all up to that offset. An unreadable batch has one dead letter.
    mutating func stepOver(to last: Int64) {
        guard let end = tracker.end, last >= end else { return }
        tracker.admit(last)
        tracker.finish(last)
    }

    /// Notes that the record's outcome is durable. A record that is given up never finishes, so that its offset is
    /// never passed.
    /// - Parameter decidedIn: the history of the database whose COMMIT made it so; nil if a broker's acknowledgement
    ///   did.
    mutating func finish(_ offset: Int64, epoch: Int, decidedIn history: DatabaseHistory?) -> Restart? {
        if epoch == self.epoch { tracker.finish(offset) } else { unfinishedOfEarlierEpochs -= 1 }
        return decided(in: history)
    }

    /// The next offset to read after a crash: everything before it is finished. Nil if unknown.
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
    /// True if the database has answered with the partition's row, as others left it.
    var isRowKnown: Bool { row != nil }

    /// Takes the row if the database had not answered when the partition was assigned. Call it before the first record
    /// is admitted.
    mutating func rowWasRead(late found: OffsetCheckpoint?) -> Restart? {
        guard row == nil else { return nil }
        row = .some(found)
        // A group that had committed nothing began at the earliest record, whatever the row says.
        guard let start, hadCommitted else { return nil }
        return found.map { $0.nextOffset < start } ?? (start > 0) ? .lowerCheckpoint : nil
    }

    /// Returns the write that is due now; nil if the row has it, a write is on its way, or nothing is known.
    mutating func beginCheckpoint() -> (write: CheckpointWrite, decidedIn: DatabaseHistory?)? {
        guard pendingWrite == nil, let row, let position, position != secured else { return nil }
        let write = CheckpointWrite(
            expected: row,
            new: OffsetCheckpoint(nextOffset: position, writer: writer, version: (row?.version ?? 0) + 1))
        pendingWrite = PendingWrite(write: write, epoch: epoch, decidedIn: decidedIn)
        defer { decidedIn = nil }
        return (write, decidedIn)
    }

    /// The offset up to which the row covers this owner's position without another write.
    private var secured: Int64? {
        if let checkpointed { return checkpointed }
        guard epoch == 0, let start, case .some(.some(let row)) = row, row.nextOffset == start else { return nil }
        return start
    }

    /// - Parameter result: the database's answer; nil if it did not answer, so that the checkpoint may have been
    ///   written.
    mutating func endCheckpoint(_ write: CheckpointWrite, partition: Int32, _ result: CheckpointResult?) -> Restart? {
        guard let pending = pendingWrite, pending.write == write else { return nil }
        pendingWrite = nil
        guard let result else { return decided(in: pending.decidedIn) }
        if let decided = pending.decidedIn, decided != result.history { return .otherHistory }
        if let found = result.refused[partition] {
            // The failed write does not cover its decisions.
            return decided(in: pending.decidedIn) ?? reconcile(with: found)
        }
        row = .some(write.new)
        if pending.epoch == epoch { checkpointed = write.new.nextOffset }
        return nil
    }

    /// The row to compare a look with; nil if a write is on its way, or nothing is known.
    var verifiableRow: OffsetCheckpoint?? { pendingWrite == nil ? row : nil }

    /// Compares the row with a look, so that a fall back of the database is noticed while nothing comes.
    /// - Parameter asked: `verifiableRow` before the database was asked. If it has changed since, the look says
    ///   nothing.
    mutating func verify(
        _ found: OffsetCheckpoint?, in history: DatabaseHistory, asked: OffsetCheckpoint?
    ) -> Restart? {
        guard case .some(let row) = verifiableRow, row == asked else { return nil }
        if let decidedIn, decidedIn != history { return .otherHistory }
        return reconcile(with: found)
    }

    /// - Parameter found: the actual content of the row.
    private mutating func reconcile(with found: OffsetCheckpoint?) -> Restart? {
        guard case .some(let expected) = row, found != expected, !PlantedFault.checkpointNotCompared.isPlanted
        else { return nil }
        guard let found, found.version > expected?.version ?? 0 else { return .databaseFellBack }
        // Our own write whose outcome was never told, or the last one of the owner before us that came after we had read.
        let isOwn = found.writer == writer
        let isPredecessors = expected?.writer != writer && (expected == nil || found.writer == expected?.writer)
        guard isOwn || isPredecessors else { return .otherOwner }
        row = .some(found)
        return nil
    }
}

// MARK: - Kafka's commit

extension PartitionProgress {
    /// The offset that may be committed now; nil if there is none. It may go down: a topic that was deleted and created
    /// begins at 0.
    var committable: Int64? {
        if PlantedFault.commitWithoutCheckpoint.isPlanted { return position }
        guard let position, let secured = checkpointed ?? (epoch == 0 ? start : nil) else { return nil }
        return min(position, secured)
    }

    /// True if Kafka has no progress of this owner, nor of the one before it.
    var awaitsProgress: Bool { start != nil && committed.map { $0.offset == start } ?? true }

    /// True if Kafka has, or is about to get, metadata of this owner that the next one may take for a death.
    var hasMetadata: Bool { committed?.metadata.isEmpty == false || pendingCommit?.metadata.isEmpty == false }

    /// Returns the commit that is due; nil if Kafka has it already.
    /// - Parameter metadata: returns the metadata for the partition's next owner, by the offset that is committed.
    func commitDue(metadata: (_ hasMoved: Bool) -> String) -> CommitMark? {
        guard let offset = committable else { return nil }
        let mark = CommitMark(offset: offset, metadata: metadata(offset != start))
        return mark == committed ? nil : mark
    }

    mutating func commitWasSent(_ mark: CommitMark) { pendingCommit = mark }

    /// Returns whether it is the commit that was on its way.
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
