import BackOffice
import Fulfillment
import NamesAndTimes

struct UnclaimedList: ConsoleList {
    let store: UnclaimedAdministration

    let name = "unclaimed"
    let title = "Unclaimed"
    let emptiness = "No purchase is unclaimed."
    let explanation = "Apple reported these purchases, and receiptd delivered them to nobody. Each row says why."
    let reasonLabel = "Reason"
    let reasons = UnclaimedReason.allCases.map(\.rawValue).sorted()
    let parts: Set<ListPart> = [.product]
    let ages = ListAge.waiting
    let table = ListedKinds.Table.unclaimed
    let columns = [
        ListColumn(name: "Reason"), ListColumn(name: "Account token", isUnder: true),
        ListColumn(name: "Reported", isSince: true), ListColumn(name: "Bought", isUnder: true),
        ListColumn(name: "Product"), ListColumn(name: "Renewal", isUnder: true), ListColumn(name: "App", isUnder: true),
        ListColumn(name: "Transaction", isLink: true),
        ListColumn(name: "Player of the token", isUnder: true, isLink: true),
    ]
    let changes: [ConsoleChange] = [.retryUnclaimed]

    func count(_ filter: ListFilter) async throws -> ListCount {
        let count = try await store.count(filter.waiting())
        let lost = count.all - count.retriable
        return ListCount(
            rows: count.all,
            note: lost > 0 ? "\(lost) cannot be retried, because PostgreSQL no longer has Apple's signed data" : "")
    }

    func rows(_ filter: ListFilter, limit: Int, skipping: Int) async throws -> [ListRow] {
        try await store.list(filter.waiting(), limit: limit, skipping: skipping).map { purchase in
            ListRow(
                cells: [
                    purchase.reason, purchase.hasToken ? "known" : "none", purchase.toldAt.rfc3339,
                    purchase.purchasedAt?.rfc3339 ?? "", purchase.productID, purchase.isRenewal ? "yes" : "no",
                    purchase.bundleID, purchase.transactionID, purchase.learntOf ?? "",
                ], id: purchase.isRetriable ? purchase.transactionID : nil,
                changes: purchase.isRetriable ? nil : [],
                meaning: UnclaimedReason(rawValue: purchase.reason)?.sentence ?? "")
        }
    }
}
