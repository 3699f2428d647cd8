import Synchronization

/// Prevents leases until the worker knows which decisions the database lost when it fell back. The gate applies to
/// parked submissions, holds, announced purchases, subscriptions and notification histories. In the lost time a
/// purchase may have been granted, published and refunded, and a revision may have been published. The consumer finds
/// the losses when it takes over its partitions. At first the gate is closed.
final class LeaseGate: Sendable {
    private let state = Mutex(false)

    var isOpen: Bool { state.withLock { $0 } }
    func open() { state.withLock { $0 = true } }
    func close() { state.withLock { $0 = false } }
}
