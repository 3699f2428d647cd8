import Fulfillment
import Kafka
import NamesAndTimes

/// The consumer thread's state of one partition while it owns it. Not Sendable: only that thread uses it.
final class AssignedPartition: ProgressOwner {
    let assignment: UInt64
    /// The number of the ledger's fall backs when it was assigned.
    let fallBackCount: Int
    var progress: PartitionProgress
    private(set) var inFlight: [ObjectIdentifier: SubmissionInHand] = [:]
    /// The highest offset ever decided here, by anyone; nil until the outbox is swept, and if there is none.
    private var highestDecided: Int64?
    /// The records whose decisions the database has lost; nil if it lost none.
    private var lost: LostDecisions?
    /// The batches that cannot be read. One record represents each in memory, and its offset is the key.
    var unreadable: [Int64: UnreadableBatches.Found] = [:]
    /// The task that sweeps the outbox.
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

    /// Notes a record. Call it before the record is admitted. Returns true if offsets fell back.
    func beginsNewEpoch(at offset: Int64) -> Bool {
        guard progress.beginsNewEpoch(at: offset) else { return false }
        // Any of it may have been decided since the outbox was swept.
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

    /// Lets the record that was just admitted represent all up to that offset.
    func stepOver(to last: Int64) { progress.stepOver(to: last) }

    /// Ends a record. An abandoned one stays unfinished, so that its offset is never passed.
    func ended(_ record: RecordInHand, isDone: Bool) -> PartitionProgress.Restart? {
        inFlight[ObjectIdentifier(record.item)] = nil
        guard isDone else { return nil }
        return progress.finish(
            record.position.offset, epoch: record.admitted.epoch, decidedIn: record.item.decidedIn)
    }
}
