import OperationsHTTP

/// Asks before anything is changed, and says of how many.
struct ConfirmPage {
    static let maximumNote = 1_000

    let change: ConsoleChange
    /// Nil: what the filter shows.
    let id: String?
    let filter: ListFilter
    let count: Int
    /// Comes back with the form: whether it is still the same that is changed.
    let mark: String
    /// What it is about, where it is one.
    var rows: [InspectionRow] = []
    let session: Sessions.Session

    /// Of so many one confirmation changes at most.
    private var changed: Int { min(count, ListLimits.maximumChanged) }

    var html: String {
        let subject = id.map { "Of \($0)." } ?? "Those that the filter shows: \(filter.text)."
        let limit =
            count > changed
            ? "<p class=\"message\">Only \(changed) of \(count) at a time; the rest by the same again.</p>"
            : ""
        let fields =
            [("token", session.token), ("change", change.rawValue), ("shown", "\(changed)"), ("found", mark)]
            + (id.map { [("id", $0)] } ?? filter.fields)
        let note = """
            <label for="note">Why, for whoever asks later: the ticket's number</label>
            <input id="note" name="note" maxlength="\(Self.maximumNote)">
            """
        let facts = rows.map { row in
            let since: [(name: String, html: String)] =
                row.time(change.sinceColumn).map { [("Age", HTMLText.shown(ShownTime.age($0)))] } ?? []
            return Facts.html(Facts.of(row) + since)
        }
        return ConsolePage(
            title: change.question(changed), session: session,
            main: """
                <p id="subject">\(HTMLText.shown(subject))</p>\(facts.joined())
                <p>\(HTMLText.escaped(change.consequence)) \(HTMLText.escaped(change.undoing))</p>\(limit)
                <form class="column" action="/change" method="post">\
                \(fields.map { ConsolePage.hidden($0.0, $0.1) }.joined())\(note)
                <button\(change.isFinal ? " class=\"danger\"" : "")>\(change.title) \(changed)</button></form>
                <p>\(ConsolePage.link("Leave everything as it is", to: back))</p>
                """
        ).html
    }

    private var back: String {
        change.takesFilter
            ? ConsolePage.address("/\(change.list)", filter.fields)
            : ConsolePage.address("/search", [("q", id ?? "")])
    }
}
