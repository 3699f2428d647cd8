import BackOffice
import Encodings
import NamesAndTimes
import ReceiptdConfiguration

/// Makes a sentence of each row that PostgreSQL has about a purchase or a submission.
extension InspectionSummary {
    /// The sentences, first about waiting purchases, then about granted purchases, then about refused purchases.
    var verdicts: [String] {
        told(rows("parked"), of: "parked", Self.parked, more: "more parked submissions")
            + told(rows("holds"), of: "holds", Self.held, more: "more held purchases")
            + told(
                rows("announced").filter { $0["state"]?.string == "unclaimed" }, Self.unclaimed,
                more: "more unclaimed purchases")
            + told(rows("grants"), of: "grants", granted, more: "more grants")
            + told(
                rows("hold_decisions").filter { $0["decision"]?.string == "reject" }, Self.rejected,
                more: "more purchases that operators refused")
            + told(
                rows("outcomes").filter { $0["answer"]?.string == "receipt.rejected" }, refused, more: "more refusals")
            + told(rows("local_refusals"), Self.refusedLocally, more: "more submissions refused without asking Apple")
    }

    /// Returns sentences about the first rows, and a line with the number of the other rows.
    /// - Parameter section: the section whose total is the number of all rows. Nil if the total is the number of
    ///   `rows`.
    private func told(
        _ rows: [JSONValue], of section: String? = nil, _ sentence: (JSONValue) -> String, more: String
    ) -> [String] {
        let lines = rows.prefix(Self.maximumTold).map(sentence)
        let total = section.map { inspection.total($0) } ?? rows.count
        return total > lines.count && !lines.isEmpty ? lines + ["and \(total - lines.count) \(more)"] : lines
    }

    private static func parked(_ row: JSONValue) -> String {
        "not decided yet: \(submission(row)) waits in PostgreSQL since \(time(row, "parked_at")): \(text(row, "reason"))"
            + (row["detail"]?.string.map { ", \(ShownText.plain($0))" } ?? "")
            + (row["is_leased"] == .bool(true)
                ? "; a worker is trying it now"
                : row["due_at"]?.string == nil
                    ? "; it waits for an operator" : "; a worker tries it next at \(time(row, "due_at"))")
    }

    private static func held(_ row: JSONValue) -> String {
        "held since \(time(row, "held_at")) for player \(quoted(row, "player_id")): \(purchase(row)): \(text(row, "reason"))"
            + (row["released_at"]?.string == nil ? "" : "; an operator released it at \(time(row, "released_at"))")
    }

    private static func unclaimed(_ row: JSONValue) -> String {
        "unclaimed: Apple announced \(purchase(row)), \(text(row, "reason"))"
    }

    private static func rejected(_ row: JSONValue) -> String {
        "refused by operator \(quoted(row, "operator")) at \(time(row, "decided_at")): \(text(row, "product_id")), "
            + "transaction \(text(row, "transaction_id")), of player \(quoted(row, "player_id"))"
    }

    private func granted(_ row: JSONValue) -> String {
        let revoked =
            switch (row["revoked_at"]?.string, row["revoked_units"]) {
            case (_?, .number(let units)?) where units != "0" && row["quantity"] != .number(units):
                "; \(units) of them revoked at \(Self.time(row, "revoked_at"))"
            case (_?, _): "; revoked at \(Self.time(row, "revoked_at"))"
            default: ""
            }
        let event =
            row["imported"] == .bool(true)
            ? "entered by an import, without an event"
            : isPending(row["transaction_id"]?.string) ? "its event is not published yet" : "its event is published"
        return "granted to player \(Self.quoted(row, "player_id")) at \(Self.time(row, "granted_at")): "
            + "\(Self.purchase(row)); \(event)\(revoked)"
    }

    private func refused(_ row: JSONValue) -> String {
        let event =
            isPending(row["submission_id"]?.string) ? "its event is not published yet" : "its event is published"
        let detail = row["detail"]?.string.map { ". \(ShownText.plain($0, limit: 300))" } ?? ""
        return "refused at \(Self.time(row, "decided_at")): \(Self.submission(row)): \(Self.text(row, "reason")); "
            + "\(event)\(detail)"
    }

    private static func refusedLocally(_ row: JSONValue) -> String {
        "refused without asking Apple: \(submission(row)): \(text(row, "reason")), "
            + "\(ShownText.plain(row["detail"]?.string ?? "", limit: 300)) (\(time(row, "occurred_at")), event "
            + "\(text(row, "event_id")))"
    }

    private func isPending(_ subject: String?) -> Bool {
        rows("outbox").contains { $0["subject"]?.string == subject }
    }

    private static func submission(_ row: JSONValue) -> String {
        "submission \(quoted(row, "submission_id")) of player \(quoted(row, "player_id"))"
    }

    private static func purchase(_ row: JSONValue) -> String {
        let quantity = if case .number(let number)? = row["quantity"] { "\(number) x " } else { "" }
        return
            "\(quantity)\(text(row, "product_id")) of \(text(row, "bundle_id")), transaction \(text(row, "transaction_id"))"
    }

    private static func quoted(_ row: JSONValue, _ name: String) -> String {
        row[name]?.string.map { ShownText.quoted($0) } ?? "?"
    }

    private static func text(_ row: JSONValue, _ name: String) -> String {
        row[name]?.string.map { ShownText.plain($0) } ?? "?"
    }

    /// Returns the time in a column, in RFC 3339.
    private static func time(_ row: JSONValue, _ name: String) -> String {
        guard let text = row[name]?.string else { return "?" }
        return Timestamp(rfc3339: text)?.rfc3339 ?? ShownText.plain(text)
    }
}
