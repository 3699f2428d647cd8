import Kafka
import PlantedFaults

/// What the consumer's thread knows of one partition while it owns it. Not Sendable: that thread's alone.
final class AssignedPartition {
    let assignment: UInt64
    private(set) var inFlight: [ObjectIdentifier: InFlightRecord] = [:]
    /// A record of it came under this assignment.
    var isFetching = false
    var isPaused = false
    /// What came while everything was to be paused, and waits for that to end: the one record that shows that the
    /// partition can be paused.
    var deferred: ArraySlice<ConsumerRecord> = []
    /// Nil until the outbox of the partition is swept; records that come before wait in `early`.
    private(set) var preparation: Preparation?
    var early: [ConsumerRecord] = []
    /// Sweeps the outbox.
    var preparing: Task<Void, Never>?
    /// The offset that Kafka is known to have.
    var committed: Int64?
    /// The offset of the commit on its way.
    var committing: Int64?

    private var tracker = OffsetTracker()
    /// Counts how often offsets fell back under this assignment.
    private var laps = 0
    /// Records of earlier laps that are not finished.
    private var unfinishedOfEarlierLaps = 0

    struct Preparation {
        /// The highest offset ever decided here, by anyone.
        let highestDecided: Int64?
    }

    init(assignment: UInt64, committed: Int64?) {
        self.assignment = assignment
        self.committed = committed
    }

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

    /// What is to be committed, nil where Kafka has it already.
    var commitDue: Int64? {
        guard let offset = committable, offset != committed else { return nil }
        return offset
    }
}
