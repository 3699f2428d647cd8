import Fulfillment
import Postgres

/// A session that hangs blocks no other session. The ledger sets its batch aside, and retries the batch separately. The
/// hanging session's locks stay until PostgreSQL ends the session. So a decision that needs a claim of that batch waits
/// too, but no other decision does.
extension PostgresLedger {
    /// The milliseconds that an SQL transaction of set-aside entries waits for a lock. They are few, because the ledger
    /// keeps retrying the entries, and halves their groups to find entries that need none of the hanging session's
    /// locks.
    static let stuckLockMilliseconds = 200

    /// Retries the set-aside entries until their queue is closed.
    func settleStuck(as given: WriterNumber) async {
        var writer = given
        while let entries = await stuck.next(maximum: limits.maximumBatch, bytes: limits.maximumBatchBytes) {
            await settle(entries, as: &writer, isStuck: true)
            if stuck.isEmpty { await deleteStuckAcknowledged() }
        }
    }

    /// Tries once to delete the outbox rows of `stuckAcknowledged`. A hanging session may have locked these rows.
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
    /// True if the session did not answer, or waited too long for a lock (55P03).
    var isStuck: Bool { isHung || sqlState == "55P03" }
}
