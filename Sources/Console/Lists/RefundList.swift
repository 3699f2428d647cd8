import Ledger
import NamesAndTimes

/// What Apple took back, the newest first.
struct RefundList: ConsoleList {
    /// Counted no further.
    private static let maximumCounted = 100_000

    let store: RefundAdministration

    let name = "refunds"
    let title = "Refunds"
    let explanation = "What Apple took back, or gave again, the newest first."
    let reasonLabel = "State"
    let reasons = RefundFilter.State.allCases.map(\.rawValue)
    let table: ListedKinds.Table? = nil
    let columns = [
        ListColumn(name: "Transaction"), ListColumn(name: "Player"), ListColumn(name: "App"),
        ListColumn(name: "Product"), ListColumn(name: "State"), ListColumn(name: "Part"), ListColumn(name: "Units"),
        ListColumn(name: "Told"),
    ]
    let changes: [ConsoleChange] = [.revoke, .reinstate]

    func count(_ filter: ListFilter) async throws -> ListCount {
        let count = try await store.count(Self.filter(filter), limit: Self.maximumCounted)
        return ListCount(rows: count, isLeast: count >= Self.maximumCounted)
    }

    func rows(_ filter: ListFilter, limit: Int) async throws -> [ListRow] {
        try await store.list(Self.filter(filter), limit: limit).map { refund in
            let apples = refund.revokedAt.map { "\(refund.reason ?? "refund") at \($0.rfc3339)" } ?? "reversed"
            let state = apples + (refund.isRevokedByOperator ? ", revoked by an operator" : "")
            let units = refund.quantity.map { "\(refund.revokedUnits ?? 0) of \($0)" } ?? ""
            let changes = Self.changes(of: refund)
            return ListRow(
                cells: [
                    refund.transactionID, refund.playerID ?? "never granted", refund.bundleID, refund.productID, state,
                    refund.percent.map { "\($0) %" } ?? "whole", units, refund.toldAt.rfc3339,
                ], id: changes.isEmpty ? nil : refund.transactionID, changes: changes, search: refund.transactionID)
        }
    }

    /// An operator takes back what Apple gave again, and gives again what an operator took back.
    private static func changes(of refund: RefundSummary) -> [ConsoleChange] {
        guard refund.playerID != nil else { return [] }
        if refund.isRevokedByOperator { return [.reinstate] }
        return refund.revokedAt == nil ? [.revoke] : []
    }

    private static func filter(_ filter: ListFilter) -> RefundFilter {
        RefundFilter(bundleID: filter.bundleID, state: filter.reason.flatMap(RefundFilter.State.init))
    }
}
