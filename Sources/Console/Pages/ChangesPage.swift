import BackOffice
import NamesAndTimes
import OperationsHTTP

/// The page of changes with their operators, the newest first.
struct ChangesPage {
    let changes: [ConsoleChanges.Change]
    let hasMore: Bool
    /// The number of the page, from 1.
    let page: Int
    /// The ids of the changes that the operator has just made. The page marks them.
    let made: Set<Int64>
    let session: Sessions.Session

    var html: String {
        let lines = changes.filter { made.contains($0.id) }.map { change in
            "\(HTMLText.shown(Self.title(change.change)))\(made.count > 1 ? " of \(HTMLText.shown(change.subject))" : ""): "
                + HTMLText.shown(change.result ?? "not finished yet")
        }
        let told =
            lines.isEmpty ? "" : "<p class=\"message\" role=\"status\">\(lines.joined(separator: "<br>"))</p>"
        let rows = changes.map { change in
            [
                change.beganAt.rfc3339, change.operatorName, Self.title(change.change), change.subject,
                "\(change.shown)", change.note ?? "", change.result ?? "no result: not finished, or interrupted",
            ].map { ConsolePage.cell($0) }
        }
        let heads = [
            ("When", false), ("Who", false), ("Change", false), ("Rows", false), ("Confirmed", true), ("Note", false),
            ("Result", false),
        ]
        return ConsolePage(
            title: "Changes", place: "/changes", session: session,
            main: """
                \(told)<p>Every change that was made in this console, or by <code>receiptd parked</code>, <code>unclaimed</code> \
                and <code>dead-letters</code>, the latest first.</p>
                \(ConsolePage.table("Changes", heads, rows, none: page > 1 ? "This page has no rows." : "Nobody has changed anything yet."))
                <p class="pages">\(page > 1 ? link("Previous page", page - 1) : "") <span>Page \(page)</span> \
                \(hasMore && page < ListLimits.maximumPages ? link("Next page", page + 1) : "")</p>
                """
        ).html
    }

    private func link(_ title: String, _ number: Int) -> String {
        ConsolePage.link(title, to: ConsolePage.address("/changes", [("page", "\(number)")]))
    }

    private static func title(_ change: String) -> String {
        guard let known = ConsoleChange(rawValue: change) else { return change }
        return known.list == "search" ? known.title : "\(known.title) (\(known.list))"
    }
}
