import Fulfillment
import Logging
import NamesAndTimes
import Operations
import Synchronization

/// One submission in memory, from its admission or lease to the end of its work. `SubmissionWorker` takes it through
/// all steps. A record that is not a submission becomes a dead letter at once.
final class SubmissionInHand: Sendable {
    let origin: Origin
    /// The time at which the submission came into memory, in monotonic seconds.
    let since = WallClock.monotonicSeconds
    let work: WorkInHand
    /// The ledger's `fallBackCount` when the worker took over the record's partition or leased the row. If the database
    /// falls back after that, the submission's decision is void.
    let fallBackCount: Int

    private struct State {
        var secondsBehindOthers = 0.0
        var decidedIn: DatabaseHistory?
    }

    private let state = Mutex(State())

    /// Takes a record that was just admitted.
    init(_ admitted: AdmittedRecord, at position: RecordPosition) {
        origin = .record(admitted)
        fallBackCount = admitted.fallBackCount
        work = WorkInHand(at: position)
    }

    /// Takes a parked submission that was leased.
    /// - Parameter answer: Apple's answer for all leased submissions of this app and proof.
    init(parked: LeasedSubmission, sharing answer: GroupAnswer = GroupAnswer(), fallBackCount: Int = 0) {
        self.fallBackCount = fallBackCount
        origin = .parked(parked)
        work = WorkInHand(at: parked.position, sharing: answer)
    }

    /// The position of the record that brought the submission.
    var position: RecordPosition { work.position }

    /// Adds the seconds for which the submission waited for its turn.
    func noteBehindOthers(seconds: Double) { state.withLock { $0.secondsBehindOthers += seconds } }

    /// The seconds for which the submission waited for its turn, without outages of all of Apple.
    var secondsBehindOthers: Double { state.withLock { $0.secondsBehindOthers } }

    /// The latest tries at Apple, including tries before the submission was parked.
    var tries: [AppleTry] {
        guard let earlier = parked?.history.tries, !earlier.isEmpty else { return work.tries }
        return Array((earlier + work.tries).suffix(AppleTry.maximumKept))
    }

    /// Notes that the outcome is durable in the database with this history.
    func wasDecided(in history: DatabaseHistory) {
        state.withLock { $0.decidedIn = history }
    }

    /// The history of the database that has the outcome; nil if no database was needed.
    var decidedIn: DatabaseHistory? { state.withLock { $0.decidedIn } }
}

extension SubmissionInHand {
    /// The source of the submission. Without a verdict, a submission from a record waits in memory or is parked. A
    /// parked submission without a verdict is parked again.
    enum Origin: Sendable {
        case record(AdmittedRecord)
        /// The submission was parked, and then leased. Boxed, because this is rare.
        indirect case parked(LeasedSubmission)
    }

    var parked: LeasedSubmission? {
        if case .parked(let leased) = origin { leased } else { nil }
    }

    var isParked: Bool {
        if case .parked = origin { true } else { false }
    }

    /// The player's ticket; nil for a parked submission, which waits for no turn.
    var ticket: PlayerLanes.Ticket? {
        if case .record(let admitted) = origin { admitted.ticket } else { nil }
    }

    /// True for a record that killed its workers in isolation.
    var isSetAside: Bool {
        if case .record(let admitted) = origin { admitted.isSetAside } else { false }
    }

    /// True if a worker may have decided the submission before.
    var mayBeRedelivered: Bool {
        switch origin {
        case .record(let admitted): admitted.mayBeRedelivered
        case .parked: true
        }
    }

    /// True if the database was restored to an earlier state, and may have lost a published decision on the record.
    var isDecidedAgain: Bool {
        switch origin {
        case .record(let admitted): admitted.isDecidedAgain
        case .parked(let leased): leased.isDecidedAgain
        }
    }

    /// The record's W3C trace context; nil if it had none.
    var traceparent: String? {
        switch origin {
        case .record(let admitted): admitted.record.traceparent
        case .parked(let leased): leased.traceparent
        }
    }

    /// Returns the fields, with the trace id if the sender gave a trace context.
    func traced(_ fields: Logger.Fields) -> Logger.Fields {
        var fields = fields
        if let id = traceparent.flatMap(TraceParent.traceID) { fields[.traceID] = "\(id)" }
        return fields
    }
}
