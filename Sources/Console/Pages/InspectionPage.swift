import Administration
import Encodings
import Ledger
import Operations

enum SearchLimits {
    /// Characters of an id that is searched.
    static let maximumID = 1_024
    /// Days that decided submissions are searched back; each costs a scan of its day.
    static let days = 2
    static let maximumDays = 400
    /// For all of a search. Of those that go farther back than `days` there is one at a time.
    static let seconds = 30.0
    /// Rows of a kind.
    static let rows = 100
    /// Characters of a cell.
    static let maximumCell = 400
}

/// All that the database knows of an id, as `inspect` has it.
struct InspectionPage {
    let id: String
    let days: Int
    let summary: InspectionSummary
    let session: Sessions.Session

    var html: String {
        let sentences = summary.sentences.map { "<li>\(HTMLText.shown($0))</li>" }.joined()
        let farther = min(max(days, 1) * 15, SearchLimits.maximumDays)
        let more =
            days < SearchLimits.maximumDays
            ? ConsolePage.link(
                "Search \(farther) days back",
                to: ConsolePage.address("/search", [("q", id), ("days", "\(farther)")])) : ""
        return ConsolePage(
            title: "What is known of \(id)", searched: id, session: session,
            main: """
                <ul class="verdict" id="verdict">\(sentences)</ul>
                <p>Decided submissions were searched \(days) days back. \(more)</p>
                <p>The console does not look into Kafka: what no worker has read yet, or has in memory, and what was refused
                without asking anyone, is known to <code>receiptd inspect</code>.</p>
                \(summary.inspection.sections.filter { !$0.rows.isEmpty }.map(section).joined())
                """
        ).html
    }

    private func section(_ section: Inspection.Section) -> String {
        guard case .object(let members)? = section.rows.first else { return "" }
        // Those of which any row has a value.
        let columns = members.map(\.name).filter { name in section.rows.contains { !Self.cell($0[name]).isEmpty } }
        let mayDecide = session.user.mayChange && section.name == "grants"
        let heads = (mayDecide ? [("decide", false)] : []) + columns.map { ($0.replacing("_", with: " "), false) }
        let rows = section.rows.map { row in
            (mayDecide ? [decision(row)] : []) + columns.map { ConsolePage.cell(Self.cell(row[$0])) }
        }
        let title = section.name.replacing("_", with: " ")
        return "<h2>\(HTMLText.shown(title))</h2>"
            + ConsolePage.table("\(title) (\(section.rows.count))", heads, rows, none: "")
    }

    private func decision(_ row: JSONValue) -> String {
        guard let id = row["transaction_id"]?.string else { return "" }
        return [ConsoleChange.revoke, .reinstate].map { change in
            let address = ConsolePage.address("/confirm", [("change", change.rawValue), ("id", id)])
            return "<a class=\"button\" href=\"\(HTMLText.escaped(address))\" "
                + "aria-label=\"\(change.title) \(HTMLText.shown(id))\">\(change.title)</a>"
        }.joined(separator: " ")
    }

    private static func cell(_ value: JSONValue?) -> String {
        switch value {
        case nil, .null: ""
        case .bool(let isTrue): isTrue ? "yes" : ""
        case .number(let text): text
        case .string(let text):
            text.count > SearchLimits.maximumCell ? String(text.prefix(SearchLimits.maximumCell)) + "…" : text
        case .array(let elements): elements.map { cell($0["transaction_id"] ?? $0) }.joined(separator: ", ")
        case .object: "…"
        }
    }
}
