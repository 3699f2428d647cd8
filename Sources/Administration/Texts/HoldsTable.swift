import BackOffice
import Encodings
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

/// Formats held transactions as a table for people, or as JSON.
package enum HoldsTable: RowTable {
    package static let columns = ["TRANSACTION", "PLAYER", "APP", "PRODUCT", "REASON", "BOUGHT", "HELD", "STATE"]
    package static let name = "holds"
    package static let nothing = "nothing is held"

    package static func cells(_ row: HoldSummary) -> [String] {
        [
            ShownText.plain(row.transactionID), ShownText.plain(row.playerID), ShownText.plain(row.bundleID),
            ShownText.plain(row.productID), ShownText.plain(row.reason), row.purchasedAt?.rfc3339 ?? "?",
            row.heldAt.rfc3339,
            state(row),
        ]
    }

    private static func state(_ row: HoldSummary) -> String {
        if row.releasedAt != nil { return row.tries == 0 ? "released" : "released, \(row.tries) tries" }
        let note = row.note.map { ", " + ShownText.plain($0) } ?? ""
        if row.waived.isEmpty { return "waits" + note }
        return "waits, \(row.waived.map { ShownText.plain($0) }.joined(separator: " and ")) waived" + note
    }

    package static func write(_ row: HoldSummary, to json: inout JSONWriter) {
        json.beginObject()
        json.member("transaction_id", row.transactionID)
        json.member("original_transaction_id", row.originalTransactionID)
        json.member("player_id", row.playerID)
        json.member("bundle_id", row.bundleID)
        json.member("product_id", row.productID)
        json.name("quantity")
        json.number(row.quantity)
        json.member("environment", row.environment)
        json.member("reason", row.reason)
        json.name("waived")
        json.beginArray()
        for reason in row.waived { json.string(reason) }
        json.endArray()
        json.member("submission_id", row.submissionID)
        json.member("purchased_at", ifPresent: row.purchasedAt?.rfc3339)
        json.member("held_at", row.heldAt.rfc3339)
        json.member("released_at", ifPresent: row.releasedAt?.rfc3339)
        json.name("tries")
        json.number(row.tries)
        json.member("note", ifPresent: row.note)
        json.name("catalog_version")
        json.number(row.catalogVersion)
        json.endObject()
    }
}
