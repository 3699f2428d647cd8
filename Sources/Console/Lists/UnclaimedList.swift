import Fulfillment
import Ledger
import NamesAndTimes

/// What Apple told of and is nobody's.
struct UnclaimedList: ConsoleList {
    let store: UnclaimedAdministration

    let name = "unclaimed"
    let title = "Unclaimed"
    let explanation = "Purchases that Apple told of, and that belong to no known player."
    let reasonLabel = "Reason"
    let reasons = UnclaimedReason.allCases.map(\.rawValue).sorted()
    let table: ListedKinds.Table? = nil
    let columns = [
        ListColumn(name: "Transaction"), ListColumn(name: "App"), ListColumn(name: "Product"),
        ListColumn(name: "Reason"), ListColumn(name: "Bought"), ListColumn(name: "Told"), ListColumn(name: "Renewal"),
        ListColumn(name: "Account token"), ListColumn(name: "Token seen with"),
    ]
    let changes: [ConsoleChange] = [.retryUnclaimed]

    func count(_ filter: ListFilter) async throws -> ListCount {
        let count = try await store.count(Self.filter(filter))
        let lost = count.all - count.retriable
        return ListCount(rows: count.all, note: lost > 0 ? "\(lost) of which too little is kept to retry" : "")
    }

    func rows(_ filter: ListFilter, limit: Int) async throws -> [ListRow] {
        try await store.list(Self.filter(filter), limit: limit).map { purchase in
            ListRow(
                cells: [
                    purchase.transactionID, purchase.bundleID, purchase.productID, purchase.reason,
                    purchase.purchasedAt.rfc3339, purchase.toldAt.rfc3339, purchase.isRenewal ? "yes" : "no",
                    purchase.hasToken ? "known" : "none", purchase.learntOf ?? "",
                ], id: purchase.isRetriable ? purchase.transactionID : nil, search: purchase.transactionID)
        }
    }

    static func filter(_ filter: ListFilter, id: String? = nil) -> UnclaimedFilter {
        UnclaimedFilter(
            bundleID: filter.bundleID, reason: filter.reason.flatMap(UnclaimedReason.init), transactionID: id)
    }
}
