import Fulfillment
import Kafka
import NamesAndTimes
import Synchronization

/// One submission in memory, from its admission or lease to the end of its work. It goes through all steps of
/// `SubmissionWorker`. A record that is no submission goes the short way to the dead letters.
final class SubmissionInHand: Sendable {
    let origin: Origin
    let decoded: SubmissionDecoder.Decoded
    /// The time since which it is in memory, in monotonic seconds.
    let since = WallClock.monotonicSeconds
    let work: WorkInHand

    private struct State {
        var secondsBehindOthers = 0.0
        var decidedIn: DatabaseHistory?
    }

    private let state = Mutex(State())

    /// A record that was just admitted.
    init(_ admitted: AdmittedRecord, at position: RecordPosition, decoded: SubmissionDecoder.Decoded) {
        origin = .record(admitted)
        self.decoded = decoded
        work = WorkInHand(at: position)
    }

    /// A parked submission that is due.
    /// - Parameter answer: shared with others of the same app and proof.
    init(parked: LeasedSubmission, sharing answer: GroupAnswer = GroupAnswer()) {
        origin = .parked(parked)
        decoded = .submission(parked.submission)
        work = WorkInHand(at: parked.position, sharing: answer)
    }

    /// The position of the record that brought it.
    var position: RecordPosition { work.position }

    /// Notes that it waited for its turn so long.
    func noteBehindOthers(seconds: Double) { state.withLock { $0.secondsBehindOthers += seconds } }

    /// An outage of Apple as a whole does not count.
    var secondsBehindOthers: Double { state.withLock { $0.secondsBehindOthers } }

    /// The last tries at Apple, those before it was parked too.
    var tries: [AppleTry] {
        guard let earlier = parked?.history.tries, !earlier.isEmpty else { return work.tries }
        return Array((earlier + work.tries).suffix(AppleTry.maximumKept))
    }

    /// Notes that the outcome is durable in a database of this history.
    func wasDecided(in history: DatabaseHistory) {
        state.withLock { $0.decidedIn = history }
    }

    /// Nil where no database was needed.
    var decidedIn: DatabaseHistory? { state.withLock { $0.decidedIn } }
}
