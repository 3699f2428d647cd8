import BackOffice
import Fulfillment
import Ledger
import OperationsHTTP

/// The page of dead letters (records that workers set aside). It shows their number for each reason, and the
/// newest rows of `local_refusals`, a sample of three days. The records are in Kafka, to which the console does not
/// connect.
struct DeadLettersPage {
    /// The ages that the filter offers. The sample is too short for a week or a month.
    static let ages: [ListAge] = [.underHour, .underDay]
    /// The reason under which the sample has a dead letter whose sender got an event.
    static let answered = Reason.malformedSubmission.rawValue

    let spans: [Traffic]
    let session: Sessions.Session
    var filter = ListFilter()
    var letters: [LocalRefusal] = []

    private var counted: Set<String> { Set(spans.flatMap { $0.rows(.deadLetter).map(\.name) }) }

    /// The reasons that the filter accepts: the reasons of this release, and the reasons that workers of another
    /// release counted.
    var reasons: [String] {
        counted.union(DeadLetter.Reason.allCases.map(\.rawValue)).union([Self.answered]).sorted()
    }

    /// The reasons that the form offers: the reasons that workers counted within a month, and the reasons in the
    /// sample.
    private var offered: [String] {
        counted.union(counted.isEmpty ? [] : [Self.answered]).union(letters.map(\.reason)).sorted()
    }

    /// True if the page shows the counts for this filter. The counts have no players, and only fixed time spans.
    private var isOfCounts: Bool { filter.playerID == nil && filter.age == nil && filter.reason != Self.answered }

    /// The counts, with one row for each reason. They need only one page.
    var rows: [[String]] {
        guard isOfCounts else { return [] }
        return counted.filter { filter.reason == nil || $0 == filter.reason }.sorted().map { name in
            [name] + spans.map { span in "\(span.rows(.deadLetter).first { $0.name == name }?.total ?? 0)" }
        }
    }

    private var form: String {
        var form = FilterForm(path: "/dead-letters")
        form.choice("reason", "Reason", offered.map { ($0, $0) }, filter.reason)
        form.text("player", "Player or key", filter.playerID)
        form.ages(Self.ages, filter.age)
        return form.html
    }

    private var counts: String {
        guard isOfCounts else { return "" }
        let file = ConsolePage.address("/dead-letters.csv", filter.fields)
        let heads = Self.heads.enumerated().map { ($1, $0 > 0) }
        let rows = rows.map { $0.map { HTMLText.shown($0) } }
        return """
            <div class="actions">\(ConsolePage.link("Export as CSV", to: file))</div>
            \(ConsolePage.table("Dead letters by reason", heads, rows, none: "No dead letters were counted."))
            """
    }

    private var records: String {
        let rows = letters.map { letter in
            [
                ConsolePage.cell(letter.reason), ConsolePage.cell(letter.occurredAt), HTMLText.shown(letter.detail),
                InspectionRow.link(letter.submissionID),
                letter.playerID.isEmpty ? "no key" : InspectionRow.link(letter.playerID),
            ]
        }
        let heads = ["Reason", "When", "What is wrong", "Submission or record", "Player or key"].map { ($0, false) }
        return """
            <h2>The newest records</h2><p>This is a sample, kept for three days. A record with the reason <code>\(Self.answered)</code> names its submission \
            and player, and the game got an event about it. The others show their place in Kafka and their key, which should be the \
            player's id.</p>
            \(ConsolePage.table("Dead letters, the newest first", heads, rows, none: "The sample has no such record."))
            """
    }

    static let heads = ["Reason", "Last hour", "Last day", "Last month"]

    var html: String {
        ConsolePage(
            title: "Dead letters", place: "/dead-letters", session: session,
            main: """
                <p>Workers could not read these records. Each is kept whole on the dead-letter topic of Kafka. An operator lists them with
                <code>receiptd dead-letters list</code> and submits them again with <code>receiptd dead-letters redrive</code>.</p>
                \(form)\(counts)\(records)
                """
        ).html
    }
}
