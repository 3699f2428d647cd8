import BackOffice
import NamesAndTimes
import OperationsHTTP

/// The events and decisions about the id that a user searched for, in words, the oldest first.
struct Timeline {
    struct Entry {
        let at: Timestamp
        var words: String
        /// The tries at Apple that the entry is about; nil for another kind of entry.
        var tries: Tries?
    }

    /// Successive tries of one request to Apple that had the same result. They share one entry of the timeline.
    struct Tries {
        /// The request and its result without the duration, as HTML.
        let what: String
        var count = 1
    }

    /// The most entries that the page shows. The page leaves out older entries.
    static let maximum = 60

    let entries: [Entry]

    init(_ inspection: Inspection) {
        var entries: [Entry] = []
        func add(_ section: String, _ time: String, _ words: (InspectionRow) -> String?) {
            for row in inspection.rows(section) {
                guard let at = row.time(time), let words = words(row) else { continue }
                entries.append(Entry(at: at, words: words))
            }
        }
        var bought: Set<String> = []
        for section in ["grants", "holds", "announced"] {
            add(section, "purchased_at") { row in
                // The row of a grant or a hold may have added this purchase already.
                guard bought.insert(row.text("transaction_id") ?? "").inserted else { return nil }
                return "Bought from Apple: \(row.purchase), transaction \(row.link("transaction_id"))"
            }
        }
        add("announced", "stored_at") { "Apple reported \($0.link("transaction_id")) by itself" }
        add("story", "at") { row in
            switch row.text("step") {
            case "apple": "Apple was asked: \(row.shown("detail"))"
            case "refused": "Refused \(row.shown("detail"))"
            default: nil
            }
        }
        add("parked", "parked_at") { "Parked: \($0.shown("reason"))" }
        add("holds", "held_at") { "Held for an operator's decision: \($0.shown("reason"))" }
        add("hold_decisions", "decided_at") {
            "Operator \($0.shown("operator")) chose \($0.shown("decision")) for the hold (\($0.shown("reason")))"
        }
        add("outcomes", "decided_at") { row in
            guard row.text("answer") == "receipt.rejected" else { return nil }
            return "Refused: \(row.shown("reason"))"
        }
        add("local_refusals", "occurred_at") { "Refused without asking Apple: \($0.shown("reason"))" }
        add("grants", "granted_at") { "Granted to player \($0.link("player_id")): \($0.purchase)" }
        add("refunds", "revoked_at") { row in
            let part = row.number("refunded_milli_percent").map { " (\(ShownNumber.short(Double($0) / 1000)) %)" } ?? ""
            return "Apple refunded \(row.link("transaction_id"))\(part): \(row.shown("reason"))"
        }
        add("refunds", "signed_at") { row in
            row.text("revoked_at") == nil ? "Apple reversed the refund of \(row.link("transaction_id"))" : nil
        }
        add("refund_requests", "taken_at") { "The player asked Apple for a refund of \($0.link("transaction_id"))" }
        add("grant_decisions", "decided_at") { row in
            let note = row.text("note").map { ": " + HTMLText.shown($0) } ?? ""
            return "Operator \(row.shown("operator")) chose \(row.shown("decision"))\(note)"
        }
        add("grants", "revoked_at") { row in
            let (units, quantity) = (row.number("revoked_units") ?? 0, row.number("quantity") ?? 1)
            let part = (1..<max(1, quantity)).contains(units) ? ": \(units) of \(quantity)" : ""
            return "Taken back from player \(row.link("player_id"))\(part)"
        }
        add("subscriptions", "updated_at") {
            "The subscription \($0.link("original_transaction_id")) became \($0.shown("state"))"
        }
        add("subscription_transfers", "transferred_at") {
            "Operator \($0.shown("operator")) moved the subscription to player \($0.link("to_player_id"))"
        }
        // Events come last, because an event follows a decision at the same instant.
        add("story", "at", Self.event)
        var seen: Set<String> = []
        // Entries of the same instant stay in the order in which they were added above.
        let sorted = entries.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
            .map(\.element).filter { seen.insert("\($0.at.milliseconds) \($0.words)").inserted }
        self.entries = sorted.reduce(into: []) { Self.append($1, to: &$0) }
    }

    private static let asked = "Apple was asked: "

    /// Appends an entry. A try with the request and the result of the last entry only raises that entry's count.
    private static func append(_ entry: Entry, to entries: inout [Entry]) {
        guard entry.words.hasPrefix(asked) else { return entries.append(entry) }
        let told = entry.words.dropFirst(asked.count)
        let what = String(told.hasSuffix(" ms") ? told[..<(told.lastIndex(of: ",") ?? told.endIndex)] : told)
        guard let last = entries.indices.last, let before = entries[last].tries, before.what == what else {
            return entries.append(Entry(at: entry.at, words: entry.words, tries: Tries(what: what)))
        }
        let tries = Tries(what: what, count: before.count + 1)
        entries[last].words = "Apple was asked \(tries.count) times until \(ShownTime.html(entry.at)): \(what)"
        entries[last].tries = tries
    }

    /// Returns the text of an event; nil if the row is no event.
    private static func event(_ row: InspectionRow) -> String? {
        guard let step = row.text("step"), step.hasPrefix("receipt."), let detail = row.text("detail") else {
            return nil
        }
        // In the detail of `TraceSteps`, the event's id comes first. A transaction's id follows the word "transaction".
        let parts = detail.split(separator: "; ").map(String.init).enumerated().map { place, part in
            let (word, rest) = part.split(at: place == 0 ? "," : " ")
            if place == 0 { return InspectionRow.link(word) + HTMLText.shown(rest) }
            return word == "transaction" && rest.count > 1
                ? "transaction \(InspectionRow.link(String(rest.dropFirst())))" : HTMLText.shown(part)
        }
        return "The game's servers get \(HTMLText.shown(step)), event \(parts.joined(separator: "; "))"
    }

    var html: String {
        guard !entries.isEmpty else { return "" }
        let shown = entries.suffix(Self.maximum)
        let earlier =
            entries.count > shown.count
            ? "<p>\(entries.count - shown.count) earlier entries are in the rows below.</p>" : ""
        let items = shown.map { "<li>\(ShownTime.html($0.at)) <span>\($0.words)</span></li>" }
        return "<h2>What happened</h2>\(earlier)<ol class=\"timeline\">\(items.joined(separator: "\n"))</ol>"
    }
}

extension String {
    /// Returns the text before the first separator, and the text from the separator on.
    fileprivate func split(at separator: Character) -> (String, String) {
        let place = firstIndex(of: separator) ?? endIndex
        return (String(self[..<place]), String(self[place...]))
    }
}
