import Synchronization

/// Prevents leases until the worker knows which decisions the database lost when it fell back. The gate applies to
/// parked submissions, holds, announced purchases, subscriptions, refund requests, notification histories and the
/// records of batched topics. In the time that the database lost, a worker may have granted a purchase, published the
/// grant and revoked it after a refund. A worker may also have published a revision. The consumer finds the losses when
/// it takes over its partitions. At first the gate is closed.
final class LeaseGate: Sendable {
    private let state = Mutex(false)

    var isOpen: Bool { state.withLock { $0 } }
    func open() { state.withLock { $0 = true } }
    func close() { state.withLock { $0 = false } }
}
