import DequeModule
import Kafka

/// One partition's records between Kafka and their work.
struct PartitionIntake: Sendable {
    enum Fetching: Sendable {
        /// Nothing came yet: it must not be paused. Can become: `running`.
        case starting
        /// Can become: `paused`; `backlogged`.
        case running
        /// The partition pauses with the others, until the window has room. Can become: `running`.
        case paused
        /// Enough of it is pending; others go on. Can become: `running`; `paused`, where the others are.
        case backlogged
    }

    private enum Phase {
        /// Nothing begins. Can become: `open`; `closed`.
        case waiting(for: Set<IntakeGate.Prerequisite>)
        /// Can become: `closed`.
        case open
        /// The partition is leaving: nothing begins any more.
        case closed
    }

    private var phase: Phase
    var fetching = Fetching.starting
    private var read = ReadPosition()
    /// The records in the window that have not begun. A deque gives each record's bytes back as it begins.
    var pending: Deque<ConsumerRecord> = []
    /// The records that are not in the window yet.
    var deferred: Deque<ConsumerRecord> = []
    /// Records that began.
    private var admitted = 0

    init(waitingFor prerequisites: Set<IntakeGate.Prerequisite>) {
        phase = prerequisites.isEmpty ? .open : .waiting(for: prerequisites)
    }

    /// The offset that is read next.
    var next: Int64? { read.next }

    var isOpen: Bool { if case .open = phase { true } else { false } }
    var isClosed: Bool { if case .closed = phase { true } else { false } }
    var isPaused: Bool { fetching == .paused || fetching == .backlogged }

    mutating func fulfil(_ prerequisite: IntakeGate.Prerequisite) {
        guard case .waiting(var prerequisites) = phase else { return }
        prerequisites.remove(prerequisite)
        phase = prerequisites.isEmpty ? .open : .waiting(for: prerequisites)
    }

    mutating func close() { phase = .closed }

    mutating func came(to next: Int64) {
        read.came(to: next)
        if fetching == .starting { fetching = .running }
    }

    /// The log ends there, for now.
    mutating func ended(at offset: Int64) { read.ended(at: offset) }

    /// Returns the place up to which the log is done with, if all before `position` is decided.
    func reached(decided position: Int64?) -> Int64? { read.reached(decided: position) }

    /// True where the record begins at once.
    mutating func take(_ record: ConsumerRecord, _ admission: CrashIsolation.Admission) -> Bool {
        guard pending.isEmpty, places(under: admission) > 0 else {
            pending.append(record)
            return false
        }
        admitted += 1
        return true
    }

    /// Nil where nothing waits that may begin now.
    mutating func admitNext(_ admission: CrashIsolation.Admission) -> ConsumerRecord? {
        places(under: admission) > 0 ? admitFirst() : nil
    }

    mutating func admitFirst() -> ConsumerRecord? {
        guard let first = pending.popFirst() else { return nil }
        admitted += 1
        return first
    }

    func hasEnoughPending(for admission: CrashIsolation.Admission) -> Bool {
        switch admission {
        case .unlimited: false
        case .first(let count): pending.count >= count
        case .isolated(let count): pending.count >= count
        }
    }

    private func places(under admission: CrashIsolation.Admission) -> Int {
        guard isOpen else { return 0 }
        switch admission {
        case .unlimited: return .max
        case .first(let count): return max(0, count - admitted)
        case .isolated: return 0
        }
    }
}
