import Synchronization

/// Parked submissions, holds and announced purchases are leased only while it is known which decisions the database has
/// lost, if it fell back to an earlier state: one of them may have been granted, told of and refunded in the lost time.
/// The consumer finds that out when it takes its partitions over. Closed at first.
final class LeaseGate: Sendable {
    private let state = Mutex(false)

    var isOpen: Bool { state.withLock { $0 } }
    func open() { state.withLock { $0 = true } }
    func close() { state.withLock { $0 = false } }
}
