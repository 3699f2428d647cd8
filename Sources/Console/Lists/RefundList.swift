import BackOffice
import NamesAndTimes

/// The list of refunds, the newest first.
struct RefundList: ConsoleList {
    private static let maximumCounted = 100_000

    let store: RefundAdministration

    let name = "refunds"
    let title = "Refunds"
    let emptiness = "No refund is known."
    let explanation = "Purchases that Apple refunded, and refunds that Apple reversed, the latest first."
    let reasonLabel = "State"
    let reasons = RefundFilter.State.allCases.map(\.rawValue)
    let parts: Set<ListPart> = [.player, .product]
    let ages = ListAge.recent
    let table = ListedKinds.Table.refunds
    let columns = [
        ListColumn(name: "State"), ListColumn(name: "Share refunded", isUnder: true),
        ListColumn(name: "Units taken back", isUnder: true),
        ListColumn(name: "Reported", isSince: true), ListColumn(name: "Refunded", isUnder: true),
        ListColumn(name: "Product"), ListColumn(name: "App", isUnder: true),
        ListColumn(name: "Transaction", isLink: true), ListColumn(name: "Player", isUnder: true, isLink: true),
    ]
    let changes: [ConsoleChange] = [.revoke, .reinstate]

    func count(_ filter: ListFilter) async throws -> ListCount {
        let count = try await store.count(Self.filter(filter), limit: Self.maximumCounted)
        return ListCount(rows: count, isLeast: count >= Self.maximumCounted)
    }

    func rows(_ filter: ListFilter, limit: Int, skipping: Int) async throws -> [ListRow] {
        try await store.list(Self.filter(filter), limit: limit, skipping: skipping).map { refund in
            let state =
                (refund.revokedAt == nil ? "reversed" : refund.reason ?? "refund")
                + (refund.isRevokedByOperator ? ", revoked by an operator" : "")
                + (refund.playerID == nil ? ", never granted" : "")
            let units = refund.quantity.map { "\(refund.revokedUnits ?? 0) of \($0)" } ?? ""
            let changes = Self.changes(of: refund)
            return ListRow(
                cells: [
                    state, refund.percent.map { "\($0) %" } ?? "all", units, refund.toldAt.rfc3339,
                    refund.revokedAt?.rfc3339 ?? "", refund.productID, refund.bundleID, refund.transactionID,
                    refund.playerID ?? "",
                ], id: changes.isEmpty ? nil : refund.transactionID, changes: changes)
        }
    }

    /// Returns the changes that a refund allows. An operator may revoke a grant whose refund Apple reversed, and may
    /// reinstate a grant that an operator revoked.
    private static func changes(of refund: RefundSummary) -> [ConsoleChange] {
        guard refund.playerID != nil else { return [] }
        if refund.isRevokedByOperator { return [.reinstate] }
        return refund.revokedAt == nil ? [.revoke] : []
    }

    private static func filter(_ filter: ListFilter) -> RefundFilter {
        var refunds = RefundFilter(
            bundleID: filter.bundleID, state: filter.reason.flatMap(RefundFilter.State.init))
        (refunds.playerID, refunds.productID, refunds.since) = (filter.playerID, filter.productID, filter.time)
        return refunds
    }
}
