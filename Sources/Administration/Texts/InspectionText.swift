import BackOffice
import Encodings
import ReceiptdConfiguration

/// Formats the findings of `inspect`, as JSON or as one table for each kind of row.
package enum InspectionText {
    private static let indent = "  "

    package static func json(_ summary: InspectionSummary) -> String {
        var json = JSONWriter(capacity: 4096)
        json.beginObject()
        json.member("id", summary.id)
        json.name("summary")
        json.value(.array(summary.sentences.map { .string($0) }))
        for section in summary.inspection.sections.map({ ($0.name, $0.rows) }) + summary.sections {
            json.name(section.0)
            json.value(.array(section.1))
        }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// Returns JSON with Apple's sentence and the ledger's findings about each transaction of an order.
    package static func json(order: String, _ found: [(apple: String, summary: InspectionSummary)]) -> String {
        var json = JSONWriter(capacity: 4096)
        json.beginObject()
        json.member("apple_order", order)
        json.name("apple")
        json.value(.array(found.map { .string($0.apple) }))
        json.name("transactions")
        json.raw("[" + found.map { Self.json($0.summary) }.joined(separator: ",") + "]")
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    package static func tables(_ found: [(apple: String, summary: InspectionSummary)], width: Int?) -> String {
        found.map { "Apple: \($0.apple)\n" + tables($0.summary, width: width) }.joined(separator: "\n\n")
    }

    /// Returns a table for each kind of row.
    /// - Parameter width: the number of characters in a terminal's line, to which the tables cut long values. Nil for a
    ///   pipe, where the tables cut nothing.
    package static func tables(_ summary: InspectionSummary, width: Int?) -> String {
        let tables = summary.inspection.sections.filter { !$0.rows.isEmpty }.map { section in
            let columns = columns(section)
            let rows = section.rows.map { row in columns.map { cell(row[$0], isCut: width != nil) } }
            let (shown, total) = (section.rows.count, summary.inspection.total(section.name))
            let count = total > shown ? "\(shown) of \(total); --page shows the others" : "\(shown)"
            let title = section.name.replacing("_", with: " ") + " (\(count))"
            let lines = TextTable.lines(columns.map { $0.uppercased() }, rows, width: width.map { $0 - indent.count })
            return ([title] + lines.map { indent + $0 }).joined(separator: "\n")
        }
        return ([summary.sentences.joined(separator: "\n")] + tables).joined(separator: "\n\n")
    }

    private static func columns(_ section: Inspection.Section) -> [String] {
        guard case .object(let members)? = section.rows.first else { return [] }
        return members.map(\.name).filter { name in section.rows.contains { cell($0[name], isCut: true) != "-" } }
    }

    private static func cell(_ value: JSONValue?, isCut: Bool) -> String {
        switch value {
        case nil, .null: "-"
        case .bool(let isTrue): isTrue ? "yes" : "-"
        case .number(let text): text
        case .string(let text): ShownText.plain(text, limit: isCut ? ShownText.maximumLength : .max)
        case .array(let elements):
            elements.isEmpty
                ? "-" : elements.map { cell($0["transaction_id"] ?? $0, isCut: isCut) }.joined(separator: ",")
        case .object: "…"
        }
    }
}
