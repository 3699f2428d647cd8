import Fulfillment
import Operations
import Synchronization

/// Gives one member at a time the turn to isolate a record, with nothing else in flight in the whole process. A death
/// then counts against that record. A member that isolates asks for the turn. The other members finish the records that
/// they have begun, and begin none until the member passes the turn. Members get the turn in the order in which they
/// asked.
final class IsolationTurn: Sendable {
    /// A reader of records.
    enum Member: Hashable, Sendable {
        case submissions
        case topic(String)
        /// The reader of Apple's notification history of one app.
        case history(HistoryScope)
    }

    private struct State {
        /// The members that asked for the turn, in order. The first has the turn once no other member is at work.
        var asking: [Member] = []
        /// The members at work. Submissions count from the start, because parked submissions may begin before any
        /// record is read.
        var working: Set<Member> = [.submissions]
    }

    private let state = Mutex(State())
    /// 1 while a member has the turn or waits for it; 0 otherwise.
    private let gauge: Gauge

    init(gauge: Gauge = Gauge()) { self.gauge = gauge }

    /// Notes that the member begins records side by side with others. Returns false while another member has the turn
    /// or waits for it.
    func begin(_ member: Member) -> Bool {
        state.withLock { state in
            guard !state.asking.contains(where: { $0 != member }) else { return false }
            state.working.insert(member)
            return true
        }
    }

    /// Notes that no record of the member is in flight.
    func ended(_ member: Member) { state.withLock { _ = $0.working.remove(member) } }

    /// Asks for the turn. Returns whether the member has it: then no other member has records in flight or begins one.
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

    /// Returns whether another member is first in line for the turn. This member then finishes its records and begins
    /// none.
    func isWanted(byOthersThan member: Member) -> Bool {
        state.withLock { $0.asking.first.map { $0 != member } ?? false }
    }
}
