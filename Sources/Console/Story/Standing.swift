import OperationsHTTP

/// The state of one purchase, submission or subscription: the answer to "where is it?".
struct Standing {
    /// The colour of the state.
    enum Tone: String {
        case good, warn, bad
        case plain = "soft"
    }

    /// A change that an operator can make now.
    struct Change {
        let change: ConsoleChange
        let id: String
    }

    let row: InspectionRow
    /// The state in a few words: `granted`, `held: daily_limit`.
    let state: String
    let tone: Tone
    /// The sentence as HTML.
    let sentence: String
    var changes: [Change] = []
    /// The sentence that support tells a player who asks. Empty if there is none.
    var answer = ""

    var badge: String { "<b class=\"badge \(tone.rawValue)\">\(HTMLText.shown(state))</b>" }

    /// Returns the words for the player as HTML; empty if there are none.
    static func told(_ answer: String) -> String {
        answer.isEmpty ? "" : "<p class=\"tell\"><b>Tell the player:</b> \(HTMLText.shown(answer))</p>"
    }

    /// - Parameter mayChange: whether the user may change anything.
    func buttons(_ mayChange: Bool) -> String {
        guard mayChange, !changes.isEmpty else { return "" }
        let links = changes.map { ConsolePage.button($0.change, id: $0.id) }
        return "<p class=\"actions\">\(links.joined(separator: " "))</p>"
    }
}
