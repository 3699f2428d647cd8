import Fulfillment
import Kafka

/// What the consumer's thread knows of one partition while it owns it. Not Sendable: that thread's alone.
final class AssignedPartition: ProgressOwner {
    let assignment: UInt64
    var progress: PartitionProgress
    private(set) var inFlight: [ObjectIdentifier: SubmissionInHand] = [:]
    /// A record of it came under this assignment.
    var isFetching: Bool { next != nil }
    /// Behind the last record that came under this assignment.
    var next: Int64?
    var isPaused = false
    /// What came while everything was to be paused, and waits for that to end: the one record that shows that the
    /// partition can be paused.
    var deferred: ArraySlice<ConsumerRecord> = []
    /// Paused by itself, while others go on.
    var isHeldBack = false
    /// Nil until the outbox of the partition is swept; nothing is admitted before.
    private(set) var preparation: Preparation?
    /// Taken, and not admitted yet.
    var held: [ConsumerRecord] = []
    /// Sweeps the outbox.
    var preparing: Task<Void, Never>?

    var note = CrashNote()
    /// What the owners before left in Kafka.
    private let inherited: String
    /// Kafka has this start's note, or does not take it. Nothing is admitted before: a record that kills the process at
    /// once must not do so unseen.
    var isStartKnown: Bool
    /// Records admitted under this assignment.
    private(set) var admittedCount = 0
    /// Since when nothing came that could be taken alone, in monotonic seconds.
    var idleSince: Double?

    struct Preparation {
        /// The highest offset ever decided here, by anyone.
        let highestDecided: Int64?
    }

    init(assignment: UInt64, progress: PartitionProgress) {
        self.assignment = assignment
        self.progress = progress
        inherited = progress.committed?.metadata ?? ""
        isStartKnown = progress.start == nil
    }

    /// What the owners before have left, with this one's start. Before anything is admitted, as often as more is known.
    /// - Parameter departures: as the database counts them, nil where it does not answer.
    func begin(departures: Int64?) {
        note = CrashNote(metadata: inherited)
        note.begin(departures: departures)
    }

    /// The owner before died while one record was alone in flight.
    var deathWasCounted: Bool { note.deaths > CrashNote(metadata: inherited).deaths }

    /// Kafka has something of this owner that the next one may take for a death, or may get it.
    var hasToldOfItself: Bool {
        progress.committed?.metadata.isEmpty == false || progress.pendingCommit?.metadata.isEmpty == false
    }

    func prepared(highestDecided: Int64?) {
        preparation = Preparation(highestDecided: highestDecided)
    }

    /// To be called before a record is admitted. True where offsets fell back.
    func beginsNewEpoch(at offset: Int64) -> Bool {
        guard progress.beginsNewEpoch(at: offset) else { return false }
        // Any of it may have been decided since the outbox was swept.
        preparation = Preparation(highestDecided: .max)
        return true
    }

    func mayBeRedelivered(_ offset: Int64) -> Bool {
        preparation?.highestDecided.map { offset <= $0 } ?? false
    }

    func admit(_ item: SubmissionInHand) {
        progress.admit(item.position.offset)
        inFlight[ObjectIdentifier(item)] = item
        admittedCount += 1
    }

    /// The record just admitted stands for all up to that offset.
    func stepOver(to last: Int64) { progress.stepOver(to: last) }

    /// An abandoned record stays unfinished, so that its offset is never passed.
    func ended(_ item: SubmissionInHand, isDone: Bool) -> PartitionProgress.Restart? {
        inFlight[ObjectIdentifier(item)] = nil
        guard isDone else { return nil }
        return progress.finish(item.position.offset, epoch: item.epoch, decidedIn: item.decidedIn)
    }

    /// Only few records at a time until Kafka knows of progress.
    var isNarrow: Bool { note.isNarrow && progress.start != nil && !progress.hasCommittedProgress }

    /// What is to be committed, nil where Kafka has it already.
    var commitDue: CommitMark? {
        progress.commitDue { hasMoved in hasMoved && note.left == 0 ? "" : note.metadata }
    }
}
