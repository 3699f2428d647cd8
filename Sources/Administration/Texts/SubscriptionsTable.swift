import BackOffice
import Encodings
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

/// Formats subscriptions as a table for people, or as JSON.
package enum SubscriptionsTable: RowTable {
    package static let columns = ["ORIGINAL", "PLAYER", "APP", "PRODUCT", "STATE", "ENDS", "RENEWS", "CHANGED", "DUE"]
    package static let name = "subscriptions"
    package static let nothing = "receiptd knows no subscription"

    package static func cells(_ row: SubscriptionSummary) -> [String] {
        [
            ShownText.plain(row.originalTransactionID), ShownText.plain(row.playerID), ShownText.plain(row.bundleID),
            ShownText.plain(row.productID), row.state, (row.graceExpiresAt ?? row.expiresAt)?.rfc3339 ?? "",
            row.willRenew.map { $0 ? "yes" : "no" } ?? "", row.updatedAt.rfc3339, row.dueAt?.rfc3339 ?? "never",
        ]
    }

    package static func write(_ row: SubscriptionSummary, to json: inout JSONWriter) {
        json.beginObject()
        json.member("original_transaction_id", row.originalTransactionID)
        json.member("player_id", row.playerID)
        json.member("bundle_id", row.bundleID)
        json.member("product_id", row.productID)
        json.member("subscription_group_id", ifPresent: row.subscriptionGroupID)
        json.member("state", row.state)
        json.member("expires_at", ifPresent: row.expiresAt?.rfc3339)
        json.member("grace_expires_at", ifPresent: row.graceExpiresAt?.rfc3339)
        if let willRenew = row.willRenew {
            json.name("will_renew")
            json.bool(willRenew)
        }
        json.member("renewal_product_id", ifPresent: row.renewalProductID)
        json.member("environment", row.environment)
        json.name("revision")
        json.number(row.revision)
        json.member("checked_at", ifPresent: row.checkedAt?.rfc3339)
        json.member("updated_at", row.updatedAt.rfc3339)
        json.member("due_at", ifPresent: row.dueAt?.rfc3339)
        json.endObject()
    }
}
