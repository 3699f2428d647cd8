import Fulfillment
import Ledger
import NamesAndTimes

/// Subscriptions, the newest change first.
struct SubscriptionList: ConsoleList {
    let store: SubscriptionAdministration

    let name = "subscriptions"
    let title = "Subscriptions"
    let explanation = "What each subscription was last known to be, the newest change first."
    let reasonLabel = "State"
    let reasons = SubscriptionState.allCases.map(\.rawValue)
    let table: ListedKinds.Table? = .subscriptions
    let columns = [
        ListColumn(name: "Original transaction"), ListColumn(name: "Player"), ListColumn(name: "App"),
        ListColumn(name: "Product"), ListColumn(name: "State"), ListColumn(name: "Expires"),
        ListColumn(name: "Renews"), ListColumn(name: "Changed"), ListColumn(name: "Asked again"),
    ]
    let changes: [ConsoleChange] = []

    func count(_ filter: ListFilter) async throws -> ListCount {
        ListCount(rows: try await store.count(Self.filter(filter)))
    }

    func rows(_ filter: ListFilter, limit: Int) async throws -> [ListRow] {
        try await store.list(Self.filter(filter), limit: limit).map { subscription in
            let expires = [
                subscription.expiresAt?.rfc3339, subscription.graceExpiresAt.map { "grace until \($0.rfc3339)" },
            ].compactMap(\.self).joined(separator: ", ")
            let renews = subscription.willRenew.map { $0 ? subscription.renewalProductID ?? "yes" : "no" } ?? "not told"
            return ListRow(
                cells: [
                    subscription.originalTransactionID, subscription.playerID, subscription.bundleID,
                    subscription.productID, subscription.state, expires, renews, subscription.updatedAt.rfc3339,
                    subscription.dueAt?.rfc3339 ?? "when Apple tells",
                ], search: subscription.originalTransactionID)
        }
    }

    private static func filter(_ filter: ListFilter) -> SubscriptionFilter {
        SubscriptionFilter(bundleID: filter.bundleID, state: filter.reason.flatMap(SubscriptionState.init))
    }
}
