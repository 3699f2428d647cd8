import Operations

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
    /// What it is about, beyond its id.
    var detail = ""
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
        let note =
            change == .revoke || change == .reinstate
            ? """
            <label for="note">Why, for whoever asks later</label>
            <input id="note" name="note" maxlength="\(Self.maximumNote)">
            """ : ""
        return ConsolePage(
            title: change.question(changed), session: session,
            main: """
                <p id="subject">\(HTMLText.shown(subject)) \(HTMLText.shown(detail))</p>
                <p>\(HTMLText.escaped(change.consequence))</p>\(limit)
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
