import Operations

/// One page of a list, with its filter and what can be done about it.
struct ListPage {
    let list: any ConsoleList
    let filter: ListFilter
    let count: ListCount
    let rows: [ListRow]
    /// From 1.
    let page: Int
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
        let options = list.reasons.map { reason in
            "<option\(reason == filter.reason ? " selected" : "")>\(HTMLText.escaped(reason))</option>"
        }.joined()
        return """
            <form class="filter" action="/\(list.name)" method="get">
            <label for="bundle">App</label>
            <input id="bundle" name="bundle" value="\(HTMLText.escaped(filter.bundleID ?? ""))" placeholder="any" spellcheck="false">
            <label for="reason">\(list.reasonLabel)</label>
            <select id="reason" name="reason"><option value="">any</option>\(options)</select>
            <button>Show</button></form>
            """
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
        return (row.changes ?? list.changes).map { change in
            let address = ConsolePage.address("/confirm", [("change", change.rawValue), ("id", id)])
            let kind = change.isFinal ? "button danger" : "button"
            // A screen reader reads links without their row.
            return "<a class=\"\(kind)\" href=\"\(HTMLText.escaped(address))\" "
                + "aria-label=\"\(change.title) \(HTMLText.shown(id))\">\(change.title)</a>"
        }.joined(separator: " ")
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
