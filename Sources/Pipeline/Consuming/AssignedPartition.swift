import Fulfillment
import Kafka
import NamesAndTimes

/// One partition's state while this worker owns it. Not Sendable: only the consumer's thread uses it.
final class AssignedPartition: ProgressOwner {
    let assignment: UInt64
    /// The ledger's `fallBackCount` when the partition was assigned: how often the database had fallen back to an
    /// earlier state.
    let fallBackCount: Int
    var progress: PartitionProgress
    private(set) var inFlight: [ObjectIdentifier: SubmissionInHand] = [:]
    /// The highest offset of this partition that any owner has decided. Nil if no offset is decided, and until the
    /// worker has published the partition's unpublished events.
    private var highestDecided: Int64?
    /// The decisions on this partition's records that the database may have lost; nil if it lost none.
    private var lost: LostDecisions?
    /// The batches that librdkafka cannot read, each by its first offset. In memory, a record without a value at this
    /// offset represents the whole batch.
    var unreadable: [Int64: UnreadableBatches.Found] = [:]
    /// The task that prepares the partition; nil before the task starts.
    var preparing: Task<Void, Never>?

    init(assignment: UInt64, progress: PartitionProgress, fallBackCount: Int = 0) {
        self.assignment = assignment
        self.fallBackCount = fallBackCount
        self.progress = progress
    }

    func prepared(highestDecided: Int64?) { self.highestDecided = highestDecided }

    func mayHaveLost(_ decisions: LostDecisions?) {
        guard let decisions else { return }
        lost?.merge(decisions)
        lost = lost ?? decisions
    }

    /// Begins a new epoch (within an epoch, offsets only ascend) if the record's offset is not above the last admitted
    /// offset. Returns whether a new epoch began. Call this before the record is admitted.
    func beginsNewEpoch(at offset: Int64) -> Bool {
        guard progress.beginsNewEpoch(at: offset) else { return false }
        // After the worker read `highestDecided`, it may itself have decided any record that comes now.
        highestDecided = .max
        return true
    }

    func mayBeRedelivered(_ offset: Int64) -> Bool { highestDecided.map { offset <= $0 } ?? false }

    func isDecidedAgain(_ offset: Int64, sentAt: Timestamp) -> Bool {
        lost?.mayCover(offset: offset, sentAt: sentAt) ?? false
    }

    func admit(_ record: RecordInHand) {
        progress.admit(record.position.offset)
        inFlight[ObjectIdentifier(record.item)] = record.item
    }

    /// Makes the last admitted record cover all offsets up to `last`, the last offset of an unreadable batch.
    func stepOver(to last: Int64) { progress.stepOver(to: last) }

    /// Notes that the work on a record ended. If the work was abandoned (`isDone` is false), the worker commits no
    /// offset above the record's offset. Returns a reason if the worker must read partitions again; otherwise nil.
    func ended(_ record: RecordInHand, isDone: Bool) -> PartitionProgress.Restart? {
        inFlight[ObjectIdentifier(record.item)] = nil
        guard isDone else { return nil }
        return progress.finish(
            record.position.offset, epoch: record.admitted.epoch, decidedIn: record.item.decidedIn)
    }
}
