import Fulfillment
import Kafka
import PlantedFaults

/// What the consumer's thread knows of one partition while it owns it. Not Sendable: that thread's alone.
final class AssignedPartition {
    let assignment: UInt64
    /// Where reading began, nil where nobody knows.
    let start: Int64?
    private(set) var inFlight: [ObjectIdentifier: InFlightRecord] = [:]
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

    /// What Kafka is known to have.
    var committed: CommitMark?
    /// The commit on its way.
    var committing: CommitMark?
    /// The next offset that the database is known to have, in `history`.
    var noted: Int64?
    var history: DatabaseHistory?

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

    private var tracker = OffsetTracker()
    /// Counts how often offsets fell back under this assignment.
    private var laps = 0
    /// Records of earlier laps that are not finished.
    private var unfinishedOfEarlierLaps = 0

    struct Preparation {
        /// The highest offset ever decided here, by anyone.
        let highestDecided: Int64?
    }

    init(assignment: UInt64, start: Int64? = nil, committed: CommitMark? = nil) {
        self.assignment = assignment
        self.start = start
        self.committed = committed
        inherited = committed?.metadata ?? ""
        isStartKnown = start == nil
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
    var hasToldOfItself: Bool { committed?.metadata.isEmpty == false || committing?.metadata.isEmpty == false }

    func prepared(highestDecided: Int64?) {
        preparation = Preparation(highestDecided: highestDecided)
    }

    /// To be called before a record is admitted. True where offsets fell back: the topic was made anew or cut off under
    /// us, or librdkafka hands records out a second time. Tracking begins anew, and nothing is committed until what was
    /// admitted before is finished, for it may not come again.
    func turnsBack(to offset: Int64) -> Bool {
        guard let end = tracker.end, offset < end else { return false }
        unfinishedOfEarlierLaps += tracker.unfinishedCount
        tracker = OffsetTracker()
        laps += 1
        noted = nil
        // Any of it may have been decided since the outbox was swept.
        preparation = Preparation(highestDecided: .max)
        return true
    }

    func mayBeRedelivered(_ offset: Int64) -> Bool {
        preparation?.highestDecided.map { offset <= $0 } ?? false
    }

    /// The lap to be noted in the record.
    var lap: Int { laps }

    func admit(_ item: InFlightRecord) {
        tracker.admit(item.record.offset)
        inFlight[ObjectIdentifier(item)] = item
        admittedCount += 1
    }

    /// The record just admitted stands for all up to that offset.
    func stepOver(to last: Int64) {
        guard let end = tracker.end, last >= end else { return }
        tracker.admit(last)
        tracker.finish(last)
    }

    /// An abandoned record stays unfinished, so that its offset is never passed.
    func ended(_ item: InFlightRecord, isDone: Bool) {
        inFlight[ObjectIdentifier(item)] = nil
        guard isDone else { return }
        if item.lap == laps {
            tracker.finish(item.record.offset)
        } else {
            unfinishedOfEarlierLaps -= 1
        }
    }

    /// The next offset to read after a crash, nil where Kafka's committed one still holds.
    var committable: Int64? {
        if PlantedFault.commitAhead.isPlanted { return tracker.end }
        return unfinishedOfEarlierLaps == 0 ? tracker.committable : nil
    }

    /// Behind the last record taken, finished or not.
    var end: Int64? { tracker.end }

    /// The same, from the start on.
    var position: Int64? {
        if let committable { return committable }
        return laps == 0 ? start : nil
    }

    /// Only few records at a time until Kafka knows of progress.
    var isNarrow: Bool {
        guard note.isNarrow, let start else { return false }
        return committed.map { $0.offset == start } ?? true
    }
}

extension AssignedPartition {
    /// What the database is to note, nil where it has that.
    var noteDue: Int64? {
        guard let position, position != noted else { return nil }
        return position
    }

    /// What is to be committed, nil where Kafka has it already.
    /// - Parameter isGuarded: only what the database has noted.
    func commitDue(isGuarded: Bool) -> CommitMark? {
        guard let position, let offset = isGuarded ? noted : position else { return nil }
        // Downwards too: a topic made anew begins at 0.
        let hasMoved = offset != start
        let mark = CommitMark(offset: offset, metadata: hasMoved && note.left == 0 ? "" : note.metadata)
        return mark == committed ? nil : mark
    }
}
