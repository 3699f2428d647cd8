import Synchronization

/// Whether a batch's INSERTs say `ON CONFLICT`. With it PostgreSQL looks for the row before it inserts, which is a tenth of a batch's
/// cost. Without it a row that is there already fails the batch, which is then written again. Such rows come in numbers, as while a
/// player sends one submission again and again: so the batches behind one that failed say it too.
final class ConflictWatch: Sendable {
    /// The number of batches, the one that is written again among them.
    static let batches = 256

    private let left = Atomic(0)

    func met() { left.store(Self.batches, ordering: .relaxed) }

    /// Asked once for each try at a batch.
    func areLikely() -> Bool {
        guard left.load(ordering: .relaxed) > 0 else { return false }
        left.subtract(1, ordering: .relaxed)
        return true
    }
}
