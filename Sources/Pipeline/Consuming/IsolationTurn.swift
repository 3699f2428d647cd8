import Fulfillment
import Operations
import Synchronization

/// Lets one record at a time be taken with nothing else in flight in the whole process, whatever it was read from. A
/// death then counts against that record. A member that isolates asks for the turn. The others finish what they have
/// begun, and begin nothing until the turn is passed on. The first to ask comes first.
final class IsolationTurn: Sendable {
    /// A reader of records.
    enum Member: Hashable, Sendable {
        case submissions
        case topic(String)
        /// The reader of Apple's notification history of one app.
        case history(HistoryScope)
    }

    private struct State {
        /// The members that isolate. The first has the turn once nobody else is working.
        var asking: [Member] = []
        /// The members at work. Submissions count until they are held back, because parked ones begin before any is
        /// read.
        var working: Set<Member> = [.submissions]
    }

    private let state = Mutex(State())
    /// 1 while somebody has the turn or waits for it; 0 otherwise.
    private let gauge: Gauge

    init(gauge: Gauge = Gauge()) { self.gauge = gauge }

    /// Asks to take records side by side with the others. Returns false while somebody has the turn or waits for it.
    func begin(_ member: Member) -> Bool {
        state.withLock { state in
            guard !state.asking.contains(where: { $0 != member }) else { return false }
            state.working.insert(member)
            return true
        }
    }

    /// Notes that nothing of the member's is in flight.
    func ended(_ member: Member) { state.withLock { _ = $0.working.remove(member) } }

    /// Asks for the turn. Returns true once it has come: nothing of the others' is in flight, and nothing begins.
    func take(_ member: Member) -> Bool {
        state.withLock { state in
            if !state.asking.contains(member) { state.asking.append(member) }
            gauge.set(true)
            return state.asking.first == member && state.working.allSatisfy { $0 == member }
        }
    }

    /// Passes the turn on, even if the member never had it.
    func pass(_ member: Member) {
        state.withLock { state in
            state.asking.removeAll { $0 == member }
            gauge.set(!state.asking.isEmpty)
        }
    }

    /// Returns whether the member is to finish what it has begun, and to begin nothing.
    func isWanted(byOthersThan member: Member) -> Bool {
        state.withLock { $0.asking.first.map { $0 != member } ?? false }
    }
}
