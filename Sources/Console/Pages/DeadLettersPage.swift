import Ledger
import Operations

/// How many records could not be read, by reason. What they hold is in Kafka, which the console does not reach.
struct DeadLettersPage {
    let spans: [Traffic]
    let session: Sessions.Session

    var rows: [[String]] {
        let names = Set(spans.flatMap { $0.rows(.deadLetter).map(\.name) }).sorted()
        return names.map { name in
            [name] + spans.map { span in "\(span.rows(.deadLetter).first { $0.name == name }?.total ?? 0)" }
        }
    }

    static let heads = ["Reason", "Last hour", "Last day", "Last month"]

    var html: String {
        let heads = Self.heads.enumerated().map { ($1, $0 > 0) }
        return ConsolePage(
            title: "Dead letters", place: "/dead-letters", session: session,
            main: """
                <p>Records that no worker could read, and that are on the dead-letter topic with all that they hold:
                <code>receiptd dead-letters list</code> shows them, <code>receiptd dead-letters redrive</code> puts them back.</p>
                <div class="actions">\(ConsolePage.link("Export as CSV", to: "/dead-letters.csv"))</div>
                \(ConsolePage.table("Dead letters by reason", heads, rows.map { $0.map { HTMLText.escaped($0) } }, none: "There were none."))
                """
        ).html
    }
}
