import Fulfillment
import Postgres

/// A session that hangs blocks no other. The ledger puts its batch aside and tries the batch again apart from the rest.
/// The hung session's locks stay until PostgreSQL ends the session, so a decision that shares a claim with the batch
/// waits too, and no other does.
extension PostgresLedger {
    /// The milliseconds that an SQL transaction of put-aside entries waits for a lock. The wait is short because the
    /// ledger tries the entries again and again, and halves their groups to find the entries that wait for no lock.
    static let stuckLockMilliseconds = 200

    /// Tries the put-aside entries again until their queue is closed.
    func settleStuck(as given: WriterNumber) async {
        var writer = given
        while let entries = await stuck.next(maximum: limits.maximumBatch, bytes: limits.maximumBatchBytes) {
            await settle(entries, as: &writer, isStuck: true)
            if stuck.isEmpty { await deleteStuckAcknowledged() }
        }
    }

    /// Deletes the outbox rows of `stuckAcknowledged`, in one try. While an entry is put aside, a hung session may have
    /// them locked.
    func deleteStuckAcknowledged() async {
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
    /// True if the session gave no answer, or waited too long for a lock (55P03).
    var isStuck: Bool { isHung || sqlState == "55P03" }
}
