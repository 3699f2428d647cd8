import Administration
import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import ReceiptdConfiguration

/// Makes a change that an operator confirmed. Stores an entry in `console_changes` before the change, and the result
/// after it.
struct ChangeRun: Sendable {
    let pool: PostgresPool
    let change: ConsoleChange
    let operatorName: String
    let note: String?

    /// Makes the change of each target separately, so that each id has its own entry. If the change of one target
    /// throws, finished changes of other targets stay.
    /// - Parameter targets: each target with the number of rows that the operator confirmed. The change is limited to
    ///   this number.
    /// - Returns: the ids of the entries.
    func all(_ targets: [(ListFilter, Int)]) async throws -> [Int64] {
        // The changes of the targets run at the same time, because each change may wait some seconds for a worker.
        try await withThrowingTaskGroup(of: Int64.self) { group in
            for (target, shown) in targets { group.addTask { try await run(target, shown: shown) } }
            return try await group.reduce(into: [Int64]()) { $0.append($1) }.sorted()
        }
    }

    private func run(_ target: ListFilter, shown: Int) async throws -> Int64 {
        try await ConsoleChanges(pool: pool).record(
            change.rawValue, of: target.subject, shown: shown, by: operatorName, note: note
        ) { try await perform(target, shown: shown) }.entry
    }

    private static let nothing = "nothing changed: the rows were decided meanwhile, or a worker is trying them now"

    private func perform(_ target: ListFilter, shown: Int) async throws -> String {
        switch change {
        case .release:
            let released = try await HoldAdministration(pool: pool).release(
                target.waiting(), by: operatorName, limit: shown)
            return released == 0 ? Self.nothing : "\(released) released; a worker decides within seconds"
        case .rejectHeld:
            let refused = try await HoldAdministration(pool: pool).reject(
                target.waiting(), by: operatorName, at: WallClock.now, limit: shown)
            return refused == HoldAdministration.Refused() ? Self.nothing : refused.description
        case .retry:
            let due = try await ParkedAdministration(pool: pool).retry(
                target.waiting(), limit: shown)
            return due == 0 ? Self.nothing : "\(due) due now; a worker tries within seconds"
        case .rejectParked:
            let ending = try await ParkedRejection(pool: pool, by: operatorName).run(target.waiting(), limit: shown)
            return ending == ParkedRejection.Ending() ? Self.nothing : ending.description
        case .retryUnclaimed:
            let due = try await UnclaimedAdministration(pool: pool).retry(
                target.waiting(), limit: shown)
            return due == 0 ? Self.nothing : "\(due) due now; a worker tries within seconds"
        case .revoke, .reinstate:
            return try await decide(StoreTransactionID(target.id ?? ""))
        }
    }

    private func decide(_ transaction: StoreTransactionID) async throws -> String {
        let decision = GrantDecision(
            change == .revoke ? .revoke : .reinstate, transaction, by: operatorName, note: note, at: WallClock.now)
        let catalog = try await StoredCatalog.latest(in: CatalogStore(pool: pool)) ?? Catalog(version: 0, apps: [])
        switch try await GrantAdministration(pool: pool).apply(decision, catalog: catalog) {
        case .published:
            return change == .revoke
                ? "revoked; a worker publishes it within seconds" : "reinstated; a worker publishes it within seconds"
        case .remembered: return "stored; Apple has refunded the purchase, so the player still does not have it"
        case .unchanged:
            return change == .revoke
                ? "nothing was done: an operator had revoked it before" : "nothing was done: no operator has revoked it"
        case .inForce(let other):
            return "nothing was done: the player already has this purchase as transaction \(other.text)"
        case .notGranted: return "nothing was done: this transaction was not granted"
        }
    }
}
