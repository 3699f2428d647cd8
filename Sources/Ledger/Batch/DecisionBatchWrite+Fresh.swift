import Fulfillment
import Identifiers
import PlantedFaults
import Postgres
import Synchronization

/// Most batches of a quiet hour are a few first purchases, of which nothing is in any table. They are written by one
/// statement in place of a look and three: what it could not insert tells that something was there, and then all of it is
/// rolled back and decided in the ordinary way.
extension DecisionBatchWrite {
    /// Decisions in such a batch at most: in a larger one it is likely that something is known, and statements cost little
    /// beside rows.
    static let largestFresh = 64

    /// Something of the batch was there.
    private struct NotFresh: Error {}

    struct FreshBatch {
        let statement: InsertFreshBatch
        let events: [[OutcomeEvent]]
    }

    /// In a transaction of its own. Nil where something was there, and nothing was written.
    func write(_ fresh: FreshBatch, in session: PostgresSession) throws -> Written? {
        do {
            return try session.transaction { session in
                let inserted = try fresh.statement.run(writer: writer, in: session)
                guard inserted.isFresh else { throw NotFresh() }
                return Written(
                    events: fresh.events, replaying: [], constantTokens: [], history: inserted.history)
            }
        } catch is NotFresh {
            return nil
        }
    }

    /// What is to be written where nothing of the batch is in the tables. Nil where more than claims, grants and outcomes
    /// is to be read or written even then.
    func fresh() -> FreshBatch? {
        guard batch.decisions.count <= Self.largestFresh, batch.originals.count == batch.claims.count,
            batch.limitedCounts.isEmpty, batch.decisions.allSatisfy(\.touchesOnlyGrants)
        else { return nil }
        #if DEBUG
            if PlantedFault.eventBeforeCommit.isPlanted { return nil }
        #endif
        var view = LedgerView()
        let settlements = batch.decisions.map { $0.settle(in: &view) }
        guard settlements.allSatisfy(\.onlyGrants), view.claims.count == batch.claims.count,
            batch.claims.allSatisfy({ row in
                view.claims[row.original]
                    == LedgerView.Claim(player: row.player, grantedTransaction: row.grantedTransaction)
            })
        else { return nil }
        var grants: [GrantRow] = []
        var finishes: [FinishRow] = []
        for (decision, settlement) in zip(batch.decisions, settlements) {
            grants += settlement.grants.map { GrantRow(grant: $0, decision: decision) }
            finishes += settlement.finishes.map { FinishRow($0, of: decision) }
        }
        grants.sort { $0.grant.purchase.transactionID < $1.grant.purchase.transactionID }
        let (outcomes, events) = outcomes(of: settlements, in: view)
        return FreshBatch(
            statement: InsertFreshBatch(
                claims: batch.claims, grants: grants, finishes: finishes, outcomes: outcomes),
            events: events)
    }
}

extension PendingDecision {
    /// Neither signals, nor account tokens, nor subscriptions, nor a parked row, nor a purchase that Apple took back.
    fileprivate var touchesOnlyGrants: Bool {
        guard parkedID == nil, risk == nil, announced == nil, !isSecond, subscriptions.facts.isEmpty else {
            return false
        }
        switch verdict {
        case .whole(_, let purchases): return purchases.isEmpty
        case .each(let judged):
            return mentionedTokens.isEmpty
                && judged.allSatisfy { if case .grant = $0.verdict { $0.purchase.cancelledAt == nil } else { false } }
        }
    }
}

extension Settlement {
    /// Of first purchases, or a rejection that touches none.
    fileprivate var onlyGrants: Bool {
        holds.isEmpty && reissued.isEmpty && repeated.isEmpty && !isReplay
            && grants.allSatisfy { $0.revocation == nil }
    }
}

/// Whether a batch is tried as fresh: after each time that it was not, more batches go by before the next is tried.
final class FreshTries: Sendable {
    private static let longest = 64

    private struct State {
        var pause = 0
        var left = 0
    }

    private let state = Mutex(State())

    /// Asked once for each batch.
    func isDue() -> Bool {
        state.withLock { state in
            guard state.left > 0 else { return true }
            state.left -= 1
            return false
        }
    }

    func note(isFresh: Bool) {
        state.withLock { state in
            state.pause = isFresh ? 0 : min(Self.longest, max(1, state.pause * 2))
            state.left = state.pause
        }
    }
}
