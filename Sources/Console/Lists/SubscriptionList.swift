import BackOffice
import Fulfillment
import NamesAndTimes

/// The list of subscriptions. The subscription that changed last comes first.
struct SubscriptionList: ConsoleList {
    let store: SubscriptionAdministration

    let name = "subscriptions"
    let title = "Subscriptions"
    let emptiness = "No subscription is known."
    let explanation = "The last known state of each subscription, the latest change first."
    let reasonLabel = "State"
    let reasons = SubscriptionState.allCases.map(\.rawValue)
    let parts: Set<ListPart> = []
    let ages: [ListAge] = []
    let table = ListedKinds.Table.subscriptions
    let columns = [
        ListColumn(name: "State"), ListColumn(name: "Renews", isUnder: true), ListColumn(name: "Expires"),
        ListColumn(name: "Grace until", isUnder: true), ListColumn(name: "Last change"),
        ListColumn(name: "Next check", isUnder: true), ListColumn(name: "Product"),
        ListColumn(name: "App", isUnder: true), ListColumn(name: "Original transaction", isLink: true),
        ListColumn(name: "Player", isUnder: true, isLink: true),
    ]
    let changes: [ConsoleChange] = []

    func count(_ filter: ListFilter) async throws -> ListCount {
        ListCount(rows: try await store.count(Self.filter(filter)))
    }

    func rows(_ filter: ListFilter, limit: Int, skipping: Int) async throws -> [ListRow] {
        try await store.list(Self.filter(filter), limit: limit, skipping: skipping).map { subscription in
            let renews = subscription.willRenew.map { $0 ? subscription.renewalProductID ?? "yes" : "no" } ?? "unknown"
            return ListRow(
                cells: [
                    subscription.state, renews, subscription.expiresAt?.rfc3339 ?? "",
                    subscription.graceExpiresAt?.rfc3339 ?? "", subscription.updatedAt.rfc3339,
                    subscription.dueAt?.rfc3339 ?? "only when Apple reports a change", subscription.productID,
                    subscription.bundleID,
                    subscription.originalTransactionID, subscription.playerID,
                ])
        }
    }

    private static func filter(_ filter: ListFilter) -> SubscriptionFilter {
        SubscriptionFilter(bundleID: filter.bundleID, state: filter.reason.flatMap(SubscriptionState.init))
    }
}
