import BackOffice
import Encodings
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

/// Subscriptions as a table for people, or as JSON.
package enum SubscriptionsTable {
    private static let columns = ["ORIGINAL", "PLAYER", "APP", "PRODUCT", "STATE", "ENDS", "RENEWS", "CHANGED", "DUE"]

    package static func text(_ rows: [SubscriptionSummary], total: Int, width: Int? = nil) -> String {
        if rows.isEmpty { return "no subscription is followed" }
        var lines = TextTable.lines(columns, rows.map(cells), width: width)
        if rows.count < total { lines.append("… \(rows.count) of \(total); --all shows every one") }
        return lines.joined(separator: "\n")
    }

    private static func cells(_ row: SubscriptionSummary) -> [String] {
        [
            ShownText.plain(row.originalTransactionID), ShownText.plain(row.playerID), ShownText.plain(row.bundleID),
            ShownText.plain(row.productID), row.state, (row.graceExpiresAt ?? row.expiresAt)?.rfc3339 ?? "",
            row.willRenew.map { $0 ? "yes" : "no" } ?? "", row.updatedAt.rfc3339, row.dueAt?.rfc3339 ?? "never",
        ]
    }

    /// Identifiers as they are: JSON escapes what must not be shown.
    package static func json(_ rows: [SubscriptionSummary], total: Int) -> String {
        var json = JSONWriter(capacity: 256 + 512 * rows.count)
        json.beginObject()
        json.name("total")
        json.number(total)
        json.name("subscriptions")
        json.beginArray()
        for row in rows { write(row, to: &json) }
        json.endArray()
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    private static func write(_ row: SubscriptionSummary, to json: inout JSONWriter) {
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
