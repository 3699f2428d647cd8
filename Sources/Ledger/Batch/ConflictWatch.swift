import Synchronization

/// Whether PostgreSQL is to look for rows that are there already before it inserts a batch's. It costs a tenth of a batch; a batch
/// that meets one without having looked is written twice. Where one is met more are likely, as while somebody sends the same
/// submission again and again.
final class ConflictWatch: Sendable {
    /// Batches that look after one that met a row.
    static let batches = 256

    private let left = Atomic(0)

    func met() { left.store(Self.batches, ordering: .relaxed) }

    /// Asked once for each batch.
    func areLikely() -> Bool {
        guard left.load(ordering: .relaxed) > 0 else { return false }
        left.subtract(1, ordering: .relaxed)
        return true
    }
}
