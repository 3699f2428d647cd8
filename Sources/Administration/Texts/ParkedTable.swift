import BackOffice
import Encodings
import Fulfillment
import NamesAndTimes
import ReceiptdConfiguration

/// Parked submissions as a table for people, or as JSON.
package enum ParkedTable {
    private static let columns = ["SUBMISSION", "PLAYER", "APP", "REASON", "DETAIL", "TRIES", "PARKED", "DUE"]

    package static func text(_ rows: [ParkedSummary], total: Int, width: Int? = nil) -> String {
        if rows.isEmpty { return "nothing is parked" }
        var lines = TextTable.lines(columns, rows.map(cells), width: width)
        if rows.count < total { lines.append("… \(rows.count) of \(total); --all shows every one") }
        return lines.joined(separator: "\n")
    }

    private static func cells(_ row: ParkedSummary) -> [String] {
        let due = row.isLeased ? "being tried" : row.dueAt?.rfc3339 ?? "an operator decides"
        return [
            ShownText.plain(row.submissionID), ShownText.plain(row.playerID), ShownText.plain(row.bundleID),
            ShownText.plain(row.reason), ShownText.plain(row.detail ?? "-"), String(row.failures),
            row.parkedAt.rfc3339, due,
        ]
    }

    /// Identifiers as they are: JSON escapes what must not be shown.
    package static func json(_ rows: [ParkedSummary], total: Int) -> String {
        var json = JSONWriter(capacity: 256 + 512 * rows.count)
        json.beginObject()
        json.name("total")
        json.number(total)
        json.name("parked")
        json.beginArray()
        for row in rows { write(row, to: &json) }
        json.endArray()
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    private static func write(_ row: ParkedSummary, to json: inout JSONWriter) {
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
