import Ledger
import NamesAndTimes
import OperationsHTTP

/// The history in words, oldest first.
struct Timeline {
    struct Entry {
        let at: Timestamp
        /// HTML.
        let words: String
    }

    /// Shown of them, the newest.
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
        for section in ["grants", "holds", "announced"] {
            add(section, "purchased_at") {
                "Bought from Apple: \($0.purchase), transaction \($0.link("transaction_id"))"
            }
        }
        add("announced", "stored_at") { "Apple told of \($0.link("transaction_id")) by itself" }
        add("story", "at", Self.step)
        add("parked", "parked_at") { "Set aside to wait: \($0.shown("reason"))" }
        add("holds", "held_at") { "Held for a person's decision: \($0.shown("reason"))" }
        add("hold_decisions", "decided_at") {
            "Operator \($0.shown("operator")) decided the hold (\($0.shown("reason"))): \($0.shown("decision"))"
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
            row.text("revoked_at") == nil ? "Apple gave \(row.link("transaction_id")) again" : nil
        }
        add("refund_requests", "taken_at") { "The player asked Apple for a refund of \($0.link("transaction_id"))" }
        add("grant_decisions", "decided_at") { row in
            let note = row.text("note").map { ": " + HTMLText.shown($0) } ?? ""
            return "Operator \(row.shown("operator")) said \(row.shown("decision"))\(note)"
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
            "Operator \($0.shown("operator")) gave the subscription to \($0.link("to_player_id"))"
        }
        var seen: Set<String> = []
        // Entries of the same instant keep the order above.
        self.entries = entries.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
            .map(\.element).filter { seen.insert("\($0.at.milliseconds) \($0.words)").inserted }
    }

    /// Nil for what other rows tell.
    private static func step(_ row: InspectionRow) -> String? {
        switch row.text("step") {
        case "apple": "Apple was asked: \(row.shown("detail"))"
        case "refused": "Refused \(row.shown("detail"))"
        case let step? where step.hasPrefix("receipt."): "The event \(row.shown("step")): \(row.shown("detail"))"
        default: nil
        }
    }

    var html: String {
        guard !entries.isEmpty else { return "" }
        let shown = entries.suffix(Self.maximum)
        let earlier =
            entries.count > shown.count
            ? "<p>\(entries.count - shown.count) earlier ones are in the rows below.</p>" : ""
        let items = shown.map { "<li>\(ShownTime.html($0.at)) <span>\($0.words)</span></li>" }
        return "<h2>What happened</h2>\(earlier)<ol class=\"timeline\">\(items.joined(separator: "\n"))</ol>"
    }
}
