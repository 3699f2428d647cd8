import Synchronization

/// Decides whether a batch's INSERTs say `ON CONFLICT`. With it PostgreSQL looks for each row before it inserts the
/// row, which is a tenth of a batch's cost. Without it an existing row fails the batch, which the ledger then writes
/// again. Such rows come in numbers, for instance while a player sends one submission again and again. So the batches
/// after a failed one say `ON CONFLICT` too.
final class ConflictWatch: Sendable {
    /// The number of batches that say `ON CONFLICT` after a conflict, with the failed batch's second try among them.
    static let batches = 256

    private let left = Atomic(0)

    func met() { left.store(Self.batches, ordering: .relaxed) }

    /// Returns whether a batch says `ON CONFLICT`. Call it once for each try at a batch, because it counts them.
    func areLikely() -> Bool {
        guard left.load(ordering: .relaxed) > 0 else { return false }
        left.subtract(1, ordering: .relaxed)
        return true
    }
}
