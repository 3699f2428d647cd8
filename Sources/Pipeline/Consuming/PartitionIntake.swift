import DequeModule
import Kafka

/// The delivered records of one partition that have not begun, and whether the partition fetches.
struct PartitionIntake: Sendable {
    enum Fetching: Sendable {
        /// No record came yet, so the partition cannot be paused. The next state is `running`.
        case starting
        /// The partition fetches. The next state is `paused` or `backlogged`.
        case running
        /// The partition is paused with all others until the window has free places. The next state is `running`.
        case paused
        /// The partition has enough pending records, and is paused alone. The next state is `running`, or `paused` if
        /// all partitions are paused.
        case backlogged
    }

    private enum Phase {
        /// No record may begin yet. The next state is `open` or `closed`.
        case waiting(for: Set<IntakeGate.Prerequisite>)
        /// Records may begin. The next state is `closed`.
        case open
        /// The partition is being revoked, and no further record begins.
        case closed
    }

    private var phase: Phase
    var fetching = Fetching.starting
    private var read = ReadPosition()
    /// The records in the window that have not begun. A deque frees a record's bytes as soon as the record begins.
    var pending: Deque<ConsumerRecord> = []
    /// The records that came during a pause and are not in the window yet.
    var deferred: Deque<ConsumerRecord> = []
    /// The number of records that have begun.
    private var admitted = 0

    init(waitingFor prerequisites: Set<IntakeGate.Prerequisite>) {
        phase = prerequisites.isEmpty ? .open : .waiting(for: prerequisites)
    }

    /// See `ReadPosition.next`.
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

    mutating func ended(at offset: Int64) { read.ended(at: offset) }

    /// See `ReadPosition.reached`.
    func reached(decided position: Int64?) -> Int64? { read.reached(decided: position) }

    /// Takes a record. Returns true if it begins at once, and false if it is pending.
    mutating func take(_ record: ConsumerRecord, _ admission: CrashIsolation.Admission) -> Bool {
        guard pending.isEmpty, places(under: admission) > 0 else {
            pending.append(record)
            return false
        }
        admitted += 1
        return true
    }

    /// Admits the first pending record, and returns it; nil if no record may begin now.
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
