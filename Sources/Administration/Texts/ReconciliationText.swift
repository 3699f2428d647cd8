import BackOffice
import Encodings
import Fulfillment
import ReceiptdConfiguration

/// Formats a reconciliation as a table, or as JSON.
package enum ReconciliationText {
    private static let heading = ["PRODUCT", "DAY", "GRANTED", "REVOKED", "SOLD", "DIFFERENCE"]

    private static let moneyHeading = ["PRODUCT", "CURRENCY", "UNITS", "GRANTED", "SOLD"]

    /// - Parameter all: true to show also the rows without a difference.
    package static func tables(_ reconciliation: Reconciliation, all: Bool, width: Int? = nil) -> String {
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
        return text + moneyTable(reconciliation, width: width) + summary(reconciliation)
    }

    private static func moneyTable(_ reconciliation: Reconciliation, width: Int?) -> String {
        guard !reconciliation.money.isEmpty else { return "" }
        let rows = reconciliation.money.map { row in
            [
                ShownText.plain(row.productID), row.currency, String(row.units), Money.text(row.granted),
                Money.text(row.sold),
            ]
        }
        return "money (an estimate): granted units at the prices that Apple signed, sold units at the report's prices\n"
            + TextTable.lines(moneyHeading, rows, width: width).joined(separator: "\n") + "\n\n"
    }

    package static func json(_ reconciliation: Reconciliation, timeZone: String) -> String {
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
        json.name("money")
        json.beginArray()
        for row in reconciliation.money { write(row, to: &json) }
        json.endArray()
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

    private static func write(_ row: Reconciliation.MoneyRow, to json: inout JSONWriter) {
        json.beginObject()
        json.member("product_id", row.productID)
        json.member("currency", row.currency)
        for (name, value) in [
            ("units", row.units), ("granted_milliunits", row.granted), ("sold_milliunits", row.sold),
        ] {
            json.name(name)
            json.number(value)
        }
        json.endObject()
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
