import Fulfillment
import Operations
import Synchronization

/// Gives one member (reader of records) at a time the turn to isolate a record. During the turn the process works on no
/// other record, and on no parked or held row, so a death counts against the isolated record. When a member asks for
/// the turn, the other members finish their records. They begin none until that member passes the turn. Members get the
/// turn in the order in which they asked.
final class IsolationTurn: Sendable {
    /// A reader of records.
    enum Member: Hashable, Sendable {
        case submissions
        case topic(String)
        /// The reader of Apple's notification history of one app.
        case history(HistoryScope)
    }

    private struct State {
        /// The members that asked for the turn, in order. The first has the turn when no other member is at work.
        var asking: [Member] = []
        /// The members at work. Submissions are among them from the start, because parked submissions may begin before
        /// the first record is read.
        var working: Set<Member> = [.submissions]
    }

    private let state = Mutex(State())
    /// 1 while a member has the turn or waits for it; otherwise 0.
    private let gauge: Gauge

    init(gauge: Gauge = Gauge()) { self.gauge = gauge }

    /// Lets the member begin records beside other members. Returns false, so that the member begins none, while another
    /// member has the turn or waits for it.
    func begin(_ member: Member) -> Bool {
        state.withLock { state in
            guard !state.asking.contains(where: { $0 != member }) else { return false }
            state.working.insert(member)
            return true
        }
    }

    /// Notes that no record of the member is in flight.
    func ended(_ member: Member) { state.withLock { _ = $0.working.remove(member) } }

    /// Asks for the turn. Returns whether the member has it; no other member then has a record in flight or begins one.
    func take(_ member: Member) -> Bool {
        state.withLock { state in
            if !state.asking.contains(member) { state.asking.append(member) }
            gauge.set(true)
            return state.asking.first == member && state.working.allSatisfy { $0 == member }
        }
    }

    /// Ends the member's turn, or its wait for the turn.
    func pass(_ member: Member) {
        state.withLock { state in
            state.asking.removeAll { $0 == member }
            gauge.set(!state.asking.isEmpty)
        }
    }

    /// Returns whether another member has the turn, or is the first to wait for it. Then this member must finish its
    /// records and begin none.
    func isWanted(byOthersThan member: Member) -> Bool {
        state.withLock { $0.asking.first.map { $0 != member } ?? false }
    }
}
