import BackOffice
import Encodings
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

/// Formats unclaimed purchases as a table for people, or as JSON.
package enum UnclaimedTable: RowTable {
    package static let columns = [
        "TRANSACTION", "APP", "PRODUCT", "REASON", "BOUGHT", "ANNOUNCED", "BY", "EARLIER PLAYER",
    ]
    package static let name = "unclaimed"
    package static let nothing = "nothing is unclaimed"

    package static func cells(_ row: UnclaimedSummary) -> [String] {
        [
            ShownText.plain(row.transactionID), ShownText.plain(row.bundleID), ShownText.plain(row.productID),
            ShownText.plain(row.reason), row.purchasedAt?.rfc3339 ?? "?", row.toldAt.rfc3339, row.source,
            row.learntOf.map { ShownText.plain($0) } ?? (row.hasToken ? "unknown" : "no token"),
        ]
    }

    package static func write(_ row: UnclaimedSummary, to json: inout JSONWriter) {
        json.beginObject()
        json.member("transaction_id", row.transactionID)
        json.member("original_transaction_id", row.originalTransactionID)
        json.member("bundle_id", row.bundleID)
        json.member("product_id", row.productID)
        json.member("environment", row.environment)
        json.member("source", row.source)
        json.member("submission_id", row.submissionID)
        json.name("is_renewal")
        json.bool(row.isRenewal)
        json.member("purchased_at", ifPresent: row.purchasedAt?.rfc3339)
        json.member("expires_at", ifPresent: row.expiresAt?.rfc3339)
        json.member("told_at", row.toldAt.rfc3339)
        json.member("reason", row.reason)
        json.name("has_token")
        json.bool(row.hasToken)
        json.member("learnt_of", ifPresent: row.learntOf)
        json.endObject()
    }
}
