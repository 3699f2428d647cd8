import BackOffice
import Encodings
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

/// Formats parked submissions as a table for people, or as JSON.
package enum ParkedTable: RowTable {
    package static let columns = ["SUBMISSION", "PLAYER", "APP", "REASON", "DETAIL", "TRIES", "PARKED", "DUE"]
    package static let name = "parked"
    package static let nothing = "nothing is parked"

    package static func cells(_ row: ParkedSummary) -> [String] {
        let due = row.isLeased ? "being tried" : row.dueAt?.rfc3339 ?? "an operator decides"
        return [
            ShownText.plain(row.submissionID), ShownText.plain(row.playerID), ShownText.plain(row.bundleID),
            ShownText.plain(row.reason), ShownText.plain(row.detail ?? "-"), String(row.failures),
            row.parkedAt.rfc3339, due,
        ]
    }

    package static func write(_ row: ParkedSummary, to json: inout JSONWriter) {
        json.beginObject()
        json.member("id", row.id.description)
        json.member("submission_id", row.submissionID)
        json.member("player_id", row.playerID)
        json.member("bundle_id", row.bundleID)
        json.member("reason", row.reason)
        json.member("detail", ifPresent: row.detail)
        json.member("sql_state", ifPresent: row.sqlState)
        json.name("failures")
        json.number(row.failures)
        json.name("parkings")
        json.number(row.parkings)
        json.member("parked_at", row.parkedAt.rfc3339)
        json.member("due_at", ifPresent: row.dueAt?.rfc3339)
        json.name("is_leased")
        json.bool(row.isLeased)
        json.member("topic", row.topic)
        json.name("partition")
        json.number(row.partition)
        json.name("offset")
        json.number(row.offset)
        json.endObject()
    }
}
