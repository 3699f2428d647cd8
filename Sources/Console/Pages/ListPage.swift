import Ledger
import OperationsHTTP

/// One page of a list, with its filter and what can be done about it.
struct ListPage {
    let list: any ConsoleList
    let filter: ListFilter
    let count: ListCount
    let rows: [ListRow]
    /// From 1.
    let page: Int
    /// What the filters offer; nil: it is not known of what there are rows.
    var kinds: ListedKinds?
    let session: Sessions.Session

    var html: String {
        ConsolePage(
            title: list.title, place: "/" + list.name, session: session,
            main: """
                <p>\(HTMLText.escaped(list.explanation))</p>\(filters)\(actions)\(table)\(pages)
                """
        ).html
    }

    private var filters: String {
        let app =
            kinds.map { "<select id=\"bundle\" name=\"bundle\">\(options($0.bundleIDs, filter.bundleID))</select>" }
                ?? """
                <input id="bundle" name="bundle" value="\(HTMLText.escaped(filter.bundleID ?? ""))" placeholder="any" spellcheck="false">
                """
        return """
            <form class="filter" action="/\(list.name)" method="get">
            <label for="bundle">App</label>\(app)
            <label for="reason">\(list.reasonLabel)</label>
            <select id="reason" name="reason">\(options(kinds?.reasons ?? list.reasons, filter.reason))</select>
            <button>Show</button></form>
            """
    }

    /// Any, and each that there is; what is chosen is among them, though its last row be gone.
    private func options(_ offered: [String], _ chosen: String?) -> String {
        let all = offered + [chosen].compactMap(\.self).filter { !offered.contains($0) }
        return "<option value=\"\">any</option>"
            + all.map { one in
                "<option value=\"\(HTMLText.escaped(one))\"\(one == chosen ? " selected" : "")>\(HTMLText.shown(one))</option>"
            }.joined()
    }

    private var actions: String {
        let note = count.note.isEmpty ? "" : ", \(count.note)"
        let told = "<span id=\"count\">\(shownCount)\(HTMLText.shown(note))</span>"
        let file = ConsolePage.link("Export as CSV", to: ConsolePage.address("/\(list.name).csv", filter.fields))
        let changes =
            session.user.mayChange && count.rows > 0
            ? list.changes.filter(\.takesFilter).map { change in
                let address = ConsolePage.address("/confirm", [("change", change.rawValue)] + filter.fields)
                let kind = change.isFinal ? "button danger" : "button"
                return
                    "<a class=\"\(kind)\" href=\"\(HTMLText.escaped(address))\">\(change.title) all shown by the filter</a>"
            }.joined(separator: " ") : ""
        return "<div class=\"actions\">\(told) \(file) \(changes)</div>"
    }

    private var shownCount: String {
        ShownNumber.whole(Double(count.rows)) + (count.isLeast ? " or more" : "") + " in all"
    }

    private var table: String {
        let mayChange = session.user.mayChange && !list.changes.isEmpty
        let heads = (mayChange ? [("Decide", false)] : []) + list.columns.map { ($0.name, $0.isNumber) }
        let cells = rows.map { row in
            (mayChange ? [decisions(row)] : [])
                + row.cells.enumerated().map { index, cell in
                    guard index == 0, let search = row.search else { return ConsolePage.cell(cell) }
                    return ConsolePage.link(cell, to: ConsolePage.address("/search", [("q", search)]))
                }
        }
        return ConsolePage.table(list.title, heads, cells, none: "There is nothing here.")
    }

    private func decisions(_ row: ListRow) -> String {
        guard let id = row.id else { return "" }
        return (row.changes ?? list.changes).map { ConsolePage.button($0, id: id) }.joined(separator: " ")
    }

    private var pages: String {
        let last = max(1, (count.rows + ListLimits.page - 1) / ListLimits.page)
        func link(_ title: String, _ number: Int) -> String {
            ConsolePage.link(
                title, to: ConsolePage.address("/\(list.name)", filter.fields + [("page", "\(number)")]))
        }
        let before = page > 1 ? link("Before", page - 1) : ""
        let after = page < last && page < ListLimits.maximumPages ? link("After", page + 1) : ""
        let end =
            page == ListLimits.maximumPages && page < last
            ? "<span>Further pages are not shown: a filter shows less, the CSV more.</span>" : ""
        return "<p class=\"pages\">\(before) <span>Page \(page) of \(last)</span> \(after) \(end)</p>"
    }
}
