import Administration
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import ReceiptdConfiguration

/// Makes a change that was confirmed: entered first, then done, then ended with what came of it.
struct ChangeRun: Sendable {
    let pool: PostgresPool
    let operatorName: String

    /// - Parameters:
    ///   - id: nil: what the filter shows.
    ///   - shown: how many the operator confirmed; no more are changed.
    /// - Returns: the entry's id.
    func run(
        _ change: ConsoleChange, id: String?, filter: ListFilter, shown: Int, note: String?
    ) async throws -> Int64 {
        try await ConsoleChanges(pool: pool).record(
            change.rawValue, of: id ?? filter.text, shown: shown, by: operatorName, note: note
        ) { try await perform(change, id: id, filter: filter, shown: shown, note: note) }.entry
    }

    private static let nothing = "nothing changed: it was decided meanwhile, or somebody works on it now"

    private func perform(
        _ change: ConsoleChange, id: String?, filter: ListFilter, shown: Int, note: String?
    ) async throws -> String {
        switch change {
        case .release:
            let released = try await HoldAdministration(pool: pool).release(
                HeldList.filter(filter, id: id), by: operatorName, limit: shown)
            return released == 0 ? Self.nothing : "\(released) released; a worker judges them within seconds"
        case .rejectHeld:
            return try await HoldAdministration(pool: pool).reject(
                HeldList.filter(filter, id: id), by: operatorName, at: WallClock.now, limit: shown
            ).description
        case .retry:
            let due = try await ParkedAdministration(pool: pool).retry(
                ParkedList.filter(filter, id: id), limit: shown)
            return due == 0 ? Self.nothing : "\(due) are due now"
        case .rejectParked:
            return try await ParkedRejection(pool: pool, by: operatorName).run(
                ParkedList.filter(filter, id: id), limit: shown
            ).description
        case .retryUnclaimed:
            let due = try await UnclaimedAdministration(pool: pool).retry(
                UnclaimedList.filter(filter, id: id), limit: shown)
            return due == 0 ? Self.nothing : "\(due) are due now"
        case .revoke, .reinstate:
            return try await decide(change, StoreTransactionID(id ?? ""), note: note)
        }
    }

    private func decide(
        _ change: ConsoleChange, _ transaction: StoreTransactionID, note: String?
    ) async throws -> String {
        let decision = GrantDecision(
            change == .revoke ? .revoke : .reinstate, transaction, by: operatorName, note: note, at: WallClock.now)
        let catalog = try await StoredCatalog.latest(in: CatalogStore(pool: pool)) ?? Catalog(version: 0, apps: [])
        switch try await GrantAdministration(pool: pool).apply(decision, catalog: catalog) {
        case .published:
            return change == .revoke
                ? "revoked; a worker publishes it within seconds" : "reinstated; a worker publishes it within seconds"
        case .remembered: return "remembered; Apple's refund is in force, so that nothing changes for the player"
        case .unchanged: return "nothing was done: an operator had said so before, or never revoked it"
        case .inForce(let other):
            return "nothing was done: the same purchase is granted as \(other.text), and in force"
        case .notGranted: return "nothing was done: it is not granted"
        }
    }
}
