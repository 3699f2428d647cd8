import OperationsHTTP

/// The page that asks the operator to confirm a change. It shows the number of rows.
struct ConfirmPage {
    static let maximumNote = 1_000

    let subject: ChangeSubject
    let count: Int
    /// The mark of the rows. The form sends the mark back, so that the console sees whether the rows have changed.
    let mark: String
    /// The rows as HTML; empty if the page shows none.
    let named: String
    let session: Sessions.Session

    private var change: ConsoleChange { subject.change }
    private var changed: Int { min(count, ListLimits.maximumChanged) }

    var html: String {
        let limit =
            count > changed
            ? "<p class=\"message\">This changes the first \(changed) of \(count). Repeat it for the rest.</p>"
            : ""
        let fields =
            [("token", session.token), ("change", change.rawValue), ("shown", "\(changed)"), ("found", mark)]
            + subject.fields
        let note = """
            <label for="note">Reason, such as a ticket's number. The console stores it with the change</label>
            <input id="note" name="note" maxlength="\(Self.maximumNote)">
            """
        return ConsolePage(
            title: change.question(changed), session: session,
            main: """
                <p id="subject">\(HTMLText.shown(subject.text))</p>\(named)
                <p>\(HTMLText.escaped(change.consequence)) \(HTMLText.escaped(change.undoing))</p>\(limit)
                <form class="column" action="/change" method="post">\
                \(fields.map { ConsolePage.hidden($0.0, $0.1) }.joined())\(note)
                <button\(change.isFinal ? " class=\"danger\"" : "")>\(change.title) \(changed)</button></form>
                <p>\(ConsolePage.link("Cancel and change nothing", to: back))</p>
                """
        ).html
    }

    private var back: String {
        change.takesFilter
            ? ConsolePage.address("/\(change.list)", subject.filter.fields)
            : ConsolePage.address("/search", [("q", subject.ids.first ?? "")])
    }
}
