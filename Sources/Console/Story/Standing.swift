import OperationsHTTP

/// The state of one purchase, submission or subscription, which answers "where is it?".
struct Standing {
    enum Tone: String {
        case good, warn, bad
        case plain = "soft"
    }

    struct Change {
        let change: ConsoleChange
        let id: String
    }

    let row: InspectionRow
    /// The state in a few words, such as `granted` or `held: daily_limit`.
    let state: String
    let tone: Tone
    /// The sentence about the state, as HTML.
    let sentence: String
    var changes: [Change] = []
    /// The sentence that support can send the player; empty if there is none.
    var answer = ""

    var badge: String { "<b class=\"badge \(tone.rawValue)\">\(HTMLText.shown(state))</b>" }

    /// Returns the sentence for the player as HTML; empty if there is none.
    static func told(_ answer: String) -> String {
        answer.isEmpty ? "" : "<p class=\"tell\"><b>Tell the player:</b> \(HTMLText.shown(answer))</p>"
    }

    /// - Parameter mayChange: true if the user may change something.
    func buttons(_ mayChange: Bool) -> String {
        guard mayChange, !changes.isEmpty else { return "" }
        let links = changes.map { ConsolePage.button($0.change, id: $0.id) }
        return "<p class=\"actions\">\(links.joined(separator: " "))</p>"
    }
}
