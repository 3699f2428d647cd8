import OperationsHTTP

/// The state of one purchase, submission or subscription: the answer to "where is it?".
struct Standing {
    /// The colour of the state.
    enum Tone: String {
        case good, warn, bad
        case plain = "soft"
    }

    /// A change that can be made of it now.
    struct Change {
        let change: ConsoleChange
        let id: String
    }

    let row: InspectionRow
    /// The state in a few words: `granted`, `held: daily_limit`.
    let state: String
    let tone: Tone
    /// HTML.
    let sentence: String
    var changes: [Change] = []

    var badge: String { "<b class=\"badge \(tone.rawValue)\">\(HTMLText.shown(state))</b>" }

    /// - Parameter mayChange: who looks may.
    func buttons(_ mayChange: Bool) -> String {
        guard mayChange, !changes.isEmpty else { return "" }
        let links = changes.map { ConsolePage.button($0.change, id: $0.id) }
        return "<p class=\"actions\">\(links.joined(separator: " "))</p>"
    }
}
