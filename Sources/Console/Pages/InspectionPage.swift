import Administration
import BackOffice
import Encodings
import OperationsHTTP

enum SearchLimits {
    static let maximumID = 1_024
    /// The default number of past days whose decided submissions a search reads. Each day costs a scan of the whole
    /// day.
    static let days = 2
    static let maximumDays = 400
    /// The time limit of a search, in seconds. Only one search of more than `days` days runs at a time.
    static let seconds = 30.0
    static let rows = 100
    static let maximumPages = 100
    static let maximumCell = 400
    /// The most states of purchases, submissions and subscriptions (`Standing`) that the page lists above the tables.
    static let standings = 10
}

/// The page about one id: first the answer, then the events in their order, then the rows.
struct InspectionPage {
    let id: String
    let days: Int
    /// The number of the page, from 1.
    let page: Int
    let inspection: Inspection
    let session: Sessions.Session

    var html: String {
        let standings = Standings(inspection: inspection)
        let all = standings.all
        let isPlayer = !all.contains { $0.row.isNamed(id) } && all.contains { $0.row.text("player_id") == id }
        return ConsolePage(
            title: isPlayer ? "Player \(id)" : id, searched: id, session: session,
            main: """
                <section id="verdict" aria-label="The answer">\(isPlayer ? player(standings) : answer(all))</section>
                \(isPlayer ? "" : Timeline(inspection).html)\(isPlayer ? "" : facts(all))
                \(purchases(standings, isPlayer))\(isPlayer ? of(standings) : "")\(pages)\(looks)
                <details><summary>All rows in PostgreSQL</summary>\
                \(inspection.sections.filter { !$0.rows.isEmpty }.map(RawSection.html).joined())</details>
                """
        ).html
    }

    // MARK: - The answer

    private func answer(_ all: [Standing]) -> String {
        let others =
            inspection.names.isEmpty
            ? ""
            : "<p>This id of an order or an event belongs to \(inspection.names.map(InspectionRow.link).joined(separator: ", ")).</p>"
        guard let first = all.first(where: { $0.row.isNamed(id) }) ?? all.first else {
            let rest =
                inspection.sections.allSatisfy(\.rows.isEmpty)
                ? "PostgreSQL has nothing about this id." : "Only the rows below name this id."
            guard id.wholeMatch(of: /M[A-Z0-9]{7,15}/) == nil else {
                return """
                    \(others)<p class="answer"><b class="badge soft">Apple's order number</b> \(rest) It looks like a number \
                    from Apple's mail to the customer. An operator can ask Apple for it:</p><p><code>receiptd inspect --apple-order \(HTMLText.shown(id))</code></p>
                    <p>The answer names the order's transactions. Search for these here.</p>
                    """
            }
            return """
                \(others)<p class="answer"><b class="badge soft">not found</b> \(rest) Check the id, then search more \
                days: the link is below. A submission that no worker has read yet is not here either.</p>\(Standing.told(PlayerWords.notFound))
                """
        }
        // If the player has several grants, the page shows them in a table, not in this list.
        let isListed = inspection.rows("grants").count > 1
        let further = all.filter { $0.sentence != first.sentence && !(isListed && $0.row.section == "grants") }
        return
            "\(others)<p class=\"answer\">\(first.badge) \(first.sentence)</p>\(Standing.told(first.answer))\(first.buttons(session.user.mayChange))"
            + (further.isEmpty ? "" : "<h2>Also found</h2>" + list(further, rest: "more below"))
    }

    /// Returns the first standings as a list, and the number of the other standings.
    private func list(_ standings: [Standing], rest: String) -> String {
        let items = standings.prefix(SearchLimits.standings).map {
            "<li>\($0.badge) \($0.sentence)\($0.buttons(session.user.mayChange))</li>"
        }
        let left = standings.count - items.count
        return "<ul class=\"standings\">\(items.joined())</ul>" + (left > 0 ? "<p>\(left) \(rest)</p>" : "")
    }

    private func player(_ standings: Standings) -> String {
        func count(_ name: String, _ words: String, _ one: String? = nil) -> String? {
            let total = inspection.total(name)
            return total == 0 ? nil : "\(ShownNumber.whole(Double(total))) \(total == 1 ? one ?? words : words)"
        }
        let refused = standings.refused.count
        let told = [
            count("grants", "granted"), count("holds", "held"), count("parked", "waiting"),
            count("subscriptions", "subscriptions", "subscription"),
            refused == 0 ? nil : "\(refused) refused in the last \(days) days",
        ].compactMap(\.self)
        let waiting = standings.waiting
        let lists = [("holds", "held"), ("parked", "parked")].filter { inspection.total($0.0) > 0 }.map { _, name in
            ConsolePage.link("all that are \(name)", to: ConsolePage.address("/\(name)", [("player", id)]))
        }
        return "<p class=\"answer\"><b class=\"badge soft\">player</b> \(told.joined(separator: ", ")).</p>"
            + (waiting.isEmpty ? "" : list(waiting, rest: "more wait: \(lists.joined(separator: ", "))"))
    }

    private func facts(_ all: [Standing]) -> String {
        guard let first = all.first(where: { $0.row.isNamed(id) }) ?? all.first else { return "" }
        return "<h2>Facts</h2>" + Facts.html(first.row)
    }

    // MARK: - Tables

    private func purchases(_ standings: Standings, _ isPlayer: Bool) -> String {
        let grants = standings.grants
        guard grants.count > (isPlayer ? 0 : 1) else { return "" }
        let rows = grants.map { one in
            [
                one.row.link("transaction_id"), one.badge, one.row.purchase, one.row.link("player_id"),
                one.row.time("purchased_at").map(ShownTime.html) ?? "",
                one.row.time("granted_at").map(ShownTime.html) ?? "",
            ]
        }
        let total = ShownNumber.whole(Double(inspection.total("grants")))
        let heads = ["Transaction", "State", "Purchase", "Player", "Bought", "Granted"].map { ($0, false) }
        return "<h2>Purchases</h2>" + ConsolePage.table("Purchases, the latest first (\(total))", heads, rows, none: "")
    }

    /// Returns the tables of a player's subscriptions and submissions.
    private func of(_ standings: Standings) -> String {
        func table(_ title: String, _ id: String, _ time: String, _ all: [Standing]) -> String {
            guard !all.isEmpty else { return "" }
            let rows = all.map { one in
                [one.row.link(id), one.badge, one.row.time(time).map(ShownTime.html) ?? "", one.sentence]
            }
            let heads = ["Id", "State", "Time", "What"].map { ($0, false) }
            return "<h2>\(title)</h2>" + ConsolePage.table("\(title), the latest first", heads, rows, none: "")
        }
        let refused = standings.refused
        return table("Subscriptions", "original_transaction_id", "updated_at", standings.subscriptions)
            + table(
                "Refused submissions", "submission_id", "decided_at",
                refused.filter { $0.row.section != "local_refusals" })
            + table(
                "Refused without asking Apple", "submission_id", "occurred_at",
                refused.filter { $0.row.section == "local_refusals" })
    }

    private var pages: String {
        func link(_ title: String, _ number: Int) -> String {
            ConsolePage.link(
                title,
                to: ConsolePage.address("/search", [("q", id), ("days", "\(days)"), ("page", "\(number)")]))
        }
        let hasMore = inspection.hasMore(after: page * SearchLimits.rows) && page < SearchLimits.maximumPages
        guard page > 1 || hasMore else { return "" }
        return "<p class=\"pages\">\(page > 1 ? link("Newer", page - 1) : "") <span>Page \(page)</span> "
            + "\(hasMore ? link("Older", page + 1) : "")</p>"
    }

    private var looks: String {
        let farther = min(max(days, 1) * 15, SearchLimits.maximumDays)
        let more =
            days < SearchLimits.maximumDays
            ? ": "
                + ConsolePage.link(
                    "search \(farther) days back",
                    to: ConsolePage.address("/search", [("q", id), ("days", "\(farther)")])) : ""
        return """
            <h2>Where this search looked</h2><p>It read the decided submissions of the last \(days) days\(more). Of the \
            submissions that receiptd refused without asking Apple, PostgreSQL keeps only a sample, for three days. \
            <code>receiptd inspect</code> also searches Kafka, which has the submissions that no worker has read yet.</p>
            """
    }
}

/// Writes the rows of one kind as they are stored, with links.
enum RawSection {
    static func html(_ section: Inspection.Section) -> String {
        guard case .object(let members)? = section.rows.first else { return "" }
        // The table leaves out a column in which no row has a value.
        let columns = members.map(\.name).filter { name in section.rows.contains { !cell($0[name]).isEmpty } }
        let heads = columns.map { ($0.replacing("_", with: " "), false) }
        let rows = section.rows.map { row in columns.map { linked($0, cell(row[$0])) } }
        let title = section.name.replacing("_", with: " ")
        return "<h2>\(HTMLText.shown(title))</h2>"
            + ConsolePage.table("\(title) (\(section.rows.count))", heads, rows, none: "")
    }

    private static func linked(_ column: String, _ text: String) -> String {
        let isID =
            column.hasSuffix("player_id") || column.hasSuffix("transaction_id") || column == "submission_id"
        return isID && !text.isEmpty && text.count <= SearchLimits.maximumID
            ? InspectionRow.link(text) : ConsolePage.cell(text)
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
