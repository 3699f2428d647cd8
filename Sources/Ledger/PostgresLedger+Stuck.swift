import Fulfillment
import Postgres

/// One session that hangs never blocks another. Its batch is put aside and done again apart from the rest: what it locked
/// stays locked until PostgreSQL ends it, so that whoever shares a claim with it waits too, and nobody else does.
extension PostgresLedger {
    /// Milliseconds that a transaction of what was put aside waits for a lock. Short: it is tried again and again, and
    /// halved to find who waits for nobody.
    static let stuckLockMilliseconds = 200

    /// The life of the one who tries again what was put aside.
    func settleStuck(as given: WriterNumber) async {
        var writer = given
        while let entries = await stuck.next(maximum: limits.maximumBatch, bytes: limits.maximumBatchBytes) {
            await settle(entries, as: &writer, isStuck: true)
            await deleteStuckAcknowledged()
        }
    }

    /// Deletes the rows only when nothing is put aside: they are locked as long as that.
    private func deleteStuckAcknowledged() async {
        guard stuck.isEmpty else { return }
        let ids = stuckAcknowledged.take()
        guard !ids.isEmpty else { return }
        do {
            try await pool.run { session in
                try session.transaction(lockMilliseconds: Self.stuckLockMilliseconds) {
                    try DeleteAcknowledged.run(ids, in: $0)
                }
            }
            _ = stuckAcknowledged.flushEnded()
        } catch {
            stuckAcknowledged.restore(ids)
            note(PostgresError(caught: error), of: .acknowledgements)
        }
    }
}

extension PostgresError {
    /// The transaction met a session that gives no answer, or waits for one that does not end.
    var isStuck: Bool { isHung || sqlState == "55P03" }
}
