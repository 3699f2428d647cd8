import Administration
import Fulfillment
import Ledger
import ReceiptdConfiguration

/// A reconciliation as a table, or as JSON.
enum ReconciliationText {
    private static let heading = ["PRODUCT", "DAY", "GRANTED", "REVOKED", "SOLD", "DIFFERENCE"]

    /// - Parameter all: rows that agree too.
    static func tables(_ reconciliation: Reconciliation, all: Bool, width: Int? = nil) -> String {
        let rows = all ? reconciliation.rows : reconciliation.differences
        let days = Set(reconciliation.rows.map(\.period))
        func table(_ rows: [Reconciliation.Row]) -> String {
            TextTable.lines(heading, rows.map(cells), width: width).joined(separator: "\n") + "\n\n"
        }
        var text = rows.isEmpty ? "" : table(rows)
        if days.count > 1, !reconciliation.differences.isEmpty {
            let totals = reconciliation.totals.filter { total in rows.contains { $0.productID == total.productID } }
            text += "in all\n" + table(totals)
        }
        return text + summary(reconciliation)
    }

    static func json(_ reconciliation: Reconciliation, timeZone: String) -> String {
        var json = JSONWriter(capacity: 256 + 160 * reconciliation.rows.count)
        json.beginObject()
        json.member("time_zone", timeZone)
        json.name("agrees")
        json.bool(reconciliation.differences.isEmpty)
        for (name, rows) in [("rows", reconciliation.rows), ("totals", reconciliation.totals)] {
            json.name(name)
            json.beginArray()
            for row in rows { write(row, to: &json) }
            json.endArray()
        }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    private static func summary(_ reconciliation: Reconciliation) -> String {
        let products = Set(reconciliation.rows.map(\.productID)).count
        let differences = reconciliation.differences.count
        let looked = "\(products) products, \(reconciliation.rows.count) rows"
        return differences == 0 ? "\(looked): all agree" : "\(looked): \(differences) differ"
    }

    private static func cells(_ row: Reconciliation.Row) -> [String] {
        let day =
            row.period.first == row.period.last
            ? row.period.first.text : "\(row.period.first.text) to \(row.period.last.text)"
        let sign = row.difference > 0 ? "+" : ""
        return [
            ShownText.plain(row.productID), day, String(row.granted), String(row.revoked), String(row.sold),
            sign + String(row.difference),
        ]
    }

    private static func write(_ row: Reconciliation.Row, to json: inout JSONWriter) {
        json.beginObject()
        json.member("product_id", row.productID)
        json.member("first_day", row.period.first.text)
        json.member("last_day", row.period.last.text)
        for (name, value) in [
            ("granted", row.granted), ("revoked", row.revoked), ("sold", row.sold), ("difference", row.difference),
        ] {
            json.name(name)
            json.number(value)
        }
        json.endObject()
    }
}
