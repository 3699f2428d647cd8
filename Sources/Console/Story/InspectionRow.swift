import BackOffice
import Encodings
import NamesAndTimes
import OperationsHTTP

extension Inspection {
    func rows(_ name: String) -> [InspectionRow] {
        (sections.first { $0.name == name }?.rows ?? []).map { InspectionRow(section: name, value: $0) }
    }
}

/// A row of an `Inspection` (PostgreSQL's rows about one id), and its values as HTML.
struct InspectionRow {
    let section: String
    let value: JSONValue

    func text(_ name: String) -> String? { value[name]?.string }

    func number(_ name: String) -> Int? {
        guard case .number(let text)? = value[name] else { return nil }
        return Int(text)
    }

    func isTrue(_ name: String) -> Bool { value[name] == .bool(true) }

    func time(_ name: String) -> Timestamp? { text(name).flatMap { Timestamp(rfc3339: $0) } }

    // MARK: - As HTML

    func shown(_ name: String) -> String { HTMLText.shown(text(name) ?? "?") }

    func shownTime(_ name: String) -> String { time(name).map(ShownTime.html) ?? "a time that is not known" }

    /// Returns a link to the search for the id in a column.
    func link(_ name: String) -> String { text(name).map(Self.link) ?? "?" }

    static func link(_ id: String) -> String {
        let address = HTMLText.escaped(ConsolePage.address("/search", [("q", id)]))
        return "<a href=\"\(address)\">\(ConsolePage.word(id))</a>"
    }

    /// The quantity and the product, such as `2 × gems`.
    var purchase: String {
        let quantity = number("quantity").map { "\($0) × " } ?? ""
        return quantity + shown("product_id")
    }

    /// Returns true if the row's transaction, original transaction, submission or event has this id.
    func isNamed(_ id: String) -> Bool {
        ["transaction_id", "original_transaction_id", "submission_id", "event_id"].contains { text($0) == id }
    }
}
