import Synchronization

/// Lets parked submissions, holds, announced purchases, subscriptions and notification histories be leased only while it is
/// known which decisions the database lost by a fall back. One of them may have been granted, published and refunded in the
/// lost time, and a revision may be published already. The consumer finds the losses when it takes over its partitions.
/// Closed at first.
final class LeaseGate: Sendable {
    private let state = Mutex(false)

    var isOpen: Bool { state.withLock { $0 } }
    func open() { state.withLock { $0 = true } }
    func close() { state.withLock { $0 = false } }
}
