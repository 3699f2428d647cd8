import Fulfillment
import Logging
import NamesAndTimes
import Operations
import Synchronization

/// One submission in memory, from its admission or lease to the end of its work. It goes through all steps of
/// `SubmissionWorker`. A record that is no submission goes the short way to the dead letters.
final class SubmissionInHand: Sendable {
    let origin: Origin
    /// The time since which it is in memory, in monotonic seconds.
    let since = WallClock.monotonicSeconds
    let work: WorkInHand
    /// The ledger's fall backs when it was taken, or before: where there was another since, its decision is void.
    let fallBackCount: Int

    private struct State {
        var secondsBehindOthers = 0.0
        var decidedIn: DatabaseHistory?
    }

    private let state = Mutex(State())

    /// A record that was just admitted.
    init(_ admitted: AdmittedRecord, at position: RecordPosition) {
        origin = .record(admitted)
        fallBackCount = admitted.fallBackCount
        work = WorkInHand(at: position)
    }

    /// A parked submission that is due.
    /// - Parameter answer: shared with others of the same app and proof.
    init(parked: LeasedSubmission, sharing answer: GroupAnswer = GroupAnswer(), fallBackCount: Int = 0) {
        self.fallBackCount = fallBackCount
        origin = .parked(parked)
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

extension SubmissionInHand {
    /// The origin, which decides where it goes back to while it has no verdict: it waits in memory or is parked, or it is
    /// parked again.
    enum Origin: Sendable {
        case record(AdmittedRecord)
        /// Leased from the parked submissions. Boxed: few come from there.
        indirect case parked(LeasedSubmission)
    }

    var parked: LeasedSubmission? {
        if case .parked(let leased) = origin { leased } else { nil }
    }

    var isParked: Bool {
        if case .parked = origin { true } else { false }
    }

    /// A parked submission moves no offset and waits for no turn.
    var ticket: PlayerLanes.Ticket? {
        if case .record(let admitted) = origin { admitted.ticket } else { nil }
    }

    /// A record that its workers died of in isolation.
    var isSetAside: Bool {
        if case .record(let admitted) = origin { admitted.isSetAside } else { false }
    }

    /// Whether this very record may have been answered before.
    var mayBeRedelivered: Bool {
        switch origin {
        case .record(let admitted): admitted.mayBeRedelivered
        case .parked: true
        }
    }

    /// The database was restored to an earlier state, and may have lost a decision on it that was told.
    var isDecidedAgain: Bool {
        switch origin {
        case .record(let admitted): admitted.isDecidedAgain
        case .parked(let leased): leased.isDecidedAgain
        }
    }

    /// W3C trace context of the record, nil where it had none.
    var traceparent: String? {
        switch origin {
        case .record(let admitted): admitted.record.traceparent
        case .parked(let leased): leased.traceparent
        }
    }

    /// Adds the id of its trace, if its sender gave one.
    func traced(_ fields: Logger.Fields) -> Logger.Fields {
        var fields = fields
        if let id = traceparent.flatMap(TraceParent.traceID) { fields[.traceID] = "\(id)" }
        return fields
    }
}
