import Fulfillment
import Ledger
import OperationsHTTP

/// The number of unreadable records, by reason. The records are in Kafka, which the console does not reach.
struct DeadLettersPage {
    let spans: [Traffic]
    let session: Sessions.Session
    /// Nil: of any.
    var reason: String?
    /// The newest of those that no search by submission finds.
    var nameless: [LocalRefusal] = []

    private var counted: Set<String> { Set(spans.flatMap { $0.rows(.deadLetter).map(\.name) }) }

    /// The reasons of this version, and those that workers of another one counted.
    var reasons: [String] { counted.union(DeadLetter.Reason.allCases.map(\.rawValue)).sorted() }

    /// One for each reason: never more than a page.
    var rows: [[String]] {
        counted.filter { reason == nil || $0 == reason }.sorted().map { name in
            [name] + spans.map { span in "\(span.rows(.deadLetter).first { $0.name == name }?.total ?? 0)" }
        }
    }

    private var options: String {
        reasons.map { "<option\($0 == reason ? " selected" : "")>\(HTMLText.escaped($0))</option>" }.joined()
    }

    private var file: String {
        ConsolePage.address("/dead-letters.csv", reason.map { [("reason", $0)] } ?? [])
    }

    private var namelessTable: String {
        guard !nameless.isEmpty else { return "" }
        let rows = nameless.map { letter in
            [
                ConsolePage.cell(letter.reason), ConsolePage.cell(letter.occurredAt), HTMLText.shown(letter.detail),
                InspectionRow.link(letter.submissionID),
                letter.playerID.isEmpty ? "none" : InspectionRow.link(letter.playerID),
            ]
        }
        let heads = ["Reason", "At", "What", "Record", "Key"].map { ($0, false) }
        return """
            <h2>Without a sender</h2><p>Records that name no submission or player, so that no event answers them: the newest of \
            the sample that is kept for three days. The key of a record is the player's id, where the game keeps to the contract.</p>
            \(ConsolePage.table("Records without a sender, the newest first", heads, rows, none: ""))
            """
    }

    static let heads = ["Reason", "Last hour", "Last day", "Last month"]

    var html: String {
        let heads = Self.heads.enumerated().map { ($1, $0 > 0) }
        return ConsolePage(
            title: "Dead letters", place: "/dead-letters", session: session,
            main: """
                <p>Records that no worker could read, and that are on the dead-letter topic with all that they hold:
                <code>receiptd dead-letters list</code> shows them, <code>receiptd dead-letters redrive</code> puts them back.</p>
                <form class="filter" action="/dead-letters" method="get"><div><label for="reason">Reason</label>
                <select id="reason" name="reason"><option value="">any</option>\(options)</select></div>
                <button>Show</button></form>
                <div class="actions">\(ConsolePage.link("Export as CSV", to: file))</div>
                \(ConsolePage.table("Dead letters by reason", heads, rows.map { $0.map { HTMLText.shown($0) } }, none: "There were none."))
                \(namelessTable)
                """
        ).html
    }
}
