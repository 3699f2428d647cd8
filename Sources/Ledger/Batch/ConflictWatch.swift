import Synchronization

/// Decides whether the INSERTs of a batch have `ON CONFLICT`. With it, PostgreSQL looks for each row before it inserts
/// the row, which is a tenth of a batch's cost. Without it, an existing row fails the batch, and the ledger writes the
/// batch again. Existing rows often come one after another, for example when a game server sends one submission many
/// times. So the batches after a failed batch have `ON CONFLICT` too.
final class ConflictWatch: Sendable {
    /// The number of batches with `ON CONFLICT` after a conflict, including the second try of the failed batch.
    static let batches = 256

    private let left = Atomic(0)

    func met() { left.store(Self.batches, ordering: .relaxed) }

    /// Returns whether a batch must use `ON CONFLICT`. Call it once for each try of a batch, because each call counts
    /// as a try.
    func areLikely() -> Bool {
        guard left.load(ordering: .relaxed) > 0 else { return false }
        left.subtract(1, ordering: .relaxed)
        return true
    }
}
