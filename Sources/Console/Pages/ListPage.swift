import BackOffice
import OperationsHTTP

/// One page of a list, with its filters and its changes.
struct ListPage {
    let list: any ConsoleList
    let filter: ListFilter
    let count: ListCount
    let rows: [ListRow]
    /// The number of the page, from 1.
    let page: Int
    /// The apps and reasons that the filters offer.
    let kinds: ListedKinds
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
        var form = FilterForm(path: "/" + list.name)
        form.choice("bundle", "App", kinds.bundleIDs.map { ($0, $0) }, filter.bundleID)
        form.choice("reason", list.reasonLabel, kinds.reasons.map { ($0, $0) }, filter.reason)
        if list.parts.contains(.player) { form.text("player", "Player", filter.playerID) }
        if list.parts.contains(.product) { form.text("product", "Product", filter.productID) }
        form.ages(list.ages, filter.age)
        return form.html
    }

    private var actions: String {
        let note = count.note.isEmpty ? "" : ", \(count.note)"
        let told = "<span id=\"count\">\(shownCount)\(HTMLText.shown(note))</span>"
        let file = ConsolePage.link("Export as CSV", to: ConsolePage.address("/\(list.name).csv", filter.fields))
        let all = filter.fields.isEmpty ? "all" : "all that match the filter"
        let changes =
            session.user.mayChange && count.rows > 0
            ? list.changes.filter(\.takesFilter).map { change in
                let address = ConsolePage.address("/confirm", [("change", change.rawValue)] + filter.fields)
                let kind = change.isFinal ? "button danger" : "button"
                return
                    "<a class=\"\(kind)\" href=\"\(HTMLText.escaped(address))\">\(change.title) \(all)</a>"
            }.joined(separator: " ") : ""
        return "<div class=\"actions\">\(told) \(file) \(changes)</div>"
    }

    private var shownCount: String {
        ShownNumber.whole(Double(count.rows)) + (count.isLeast ? " or more" : "") + " in all"
    }

    /// The changes that an operator can make for several picked rows; none for a user who may change nothing.
    private var picked: [ConsoleChange] { session.user.mayChange ? list.changes.filter(\.takesFilter) : [] }

    private var table: String {
        var shown = ListTable(list: list, rows: rows)
        shown.none =
            page > 1
            ? "This page has no rows." : filter.fields.isEmpty ? list.emptiness : "No row matches the filter."
        if session.user.mayChange, !list.changes.isEmpty { shown.decisions = decision }
        let table = shown.html
        guard !picked.isEmpty, rows.contains(where: { $0.id != nil }) else { return table }
        let buttons = picked.map { change in
            "<button name=\"change\" value=\"\(change.rawValue)\"\(change.isFinal ? " class=\"danger\"" : "")>"
                + "\(change.title) selected</button>"
        }
        return """
            <form id="pick" action="/confirm" method="get">\(ConsolePage.hidden(PickedRows.marker, "1"))\(table)\
            <p class="actions">\(buttons.joined(separator: " "))</p></form>
            """
    }

    private func decision(_ place: Int, _ row: ListRow) -> String {
        guard let id = row.id else { return "" }
        let box =
            picked.isEmpty
            ? ""
            : "<input type=\"checkbox\" name=\"\(PickedRows.field(place))\" value=\"\(HTMLText.escaped(id))\" "
                + "aria-label=\"Select \(HTMLText.shown(id))\">"
        return box + (row.changes ?? list.changes).map { ConsolePage.button($0, id: id) }.joined(separator: " ")
    }

    private var pages: String {
        let last = max(1, (count.rows + ListLimits.page - 1) / ListLimits.page)
        func link(_ title: String, _ number: Int) -> String {
            ConsolePage.link(
                title, to: ConsolePage.address("/\(list.name)", filter.fields + [("page", "\(number)")]))
        }
        let before = page > 1 ? link("Previous page", page - 1) : ""
        let after = page < last && page < ListLimits.maximumPages ? link("Next page", page + 1) : ""
        let end =
            page == ListLimits.maximumPages && page < last
            ? "<span>The console shows no further pages. Narrow the filter, or export the list.</span>" : ""
        return "<p class=\"pages\">\(before) <span>Page \(page) of \(last)</span> \(after) \(end)</p>"
    }
}
