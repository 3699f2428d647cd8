import BackOffice
import Fulfillment

/// The rows that a change is about: one row, the rows that an operator picked, or all rows that match a filter.
struct ChangeSubject: Sendable {
    let change: ConsoleChange
    /// The ids of the rows; empty if the filter selects the rows.
    let ids: [String]
    let filter: ListFilter

    /// Returns nil if the form's fields name no known change, or an id that no row can have. An empty id never means
    /// all rows.
    init?(_ fields: [String: String], lists: [any ConsoleList]) {
        guard let change = fields["change"].flatMap(ConsoleChange.init) else { return nil }
        self.change = change
        if let ids = fields["id"].map({ [$0] }) ?? PickedRows.ids(fields) {
            let rows = ids.compactMap { Self.row($0, of: change, lists) }
            guard rows.count == ids.count, change.takesFilter || ids.count == 1 else { return nil }
            (self.ids, self.rows, self.filter) = (ids, rows, ListFilter())
            self.isPicked = fields["id"] == nil
            return
        }
        guard change.takesFilter, let list = lists.first(where: { $0.name == change.list }),
            let filter = ListFilter(fields, of: list)
        else { return nil }
        (self.ids, self.rows, self.filter, self.isPicked) = ([], [], filter, false)
    }

    /// Returns the filter that selects one row; nil if no row of this change can have the id.
    private static func row(_ id: String, of change: ConsoleChange, _ lists: [any ConsoleList]) -> ListFilter? {
        guard !id.isEmpty, id.count <= SearchLimits.maximumID, !id.utf8.contains(0) else { return nil }
        if let list = lists.first(where: { $0.name == change.list }) { return list.row(id) }
        return TransactionIDText.isSound(id) ? ListFilter(id: id) : nil
    }

    private let rows: [ListFilter]

    private let isPicked: Bool

    /// True if the operator sent the form for picked rows without picking a row.
    var isNothing: Bool { isPicked && ids.isEmpty }

    /// The filters of the change. The console counts, changes and logs the rows of each filter separately.
    var targets: [ListFilter] { ids.isEmpty ? [filter] : rows }

    /// True if the subject may be several rows. One submission id may name several rows, because several players may
    /// use the same id.
    var isOfAny: Bool { ids.count != 1 || change == .rejectParked }

    /// True if the console makes the change only while it finds the rows that the operator saw. The release of one hold
    /// is such a change: the release waives the hold's reason, and a worker may have given the hold another reason.
    var needsSameRows: Bool { change.needsSameSet && (isOfAny || change == .release) }

    /// The form's fields that select these rows again.
    var fields: [(String, String)] {
        isPicked ? PickedRows.fields(ids) : ids.first.map { [("id", $0)] } ?? filter.fixedFields
    }

    var text: String {
        switch ids.count {
        case 0: filter.fields.isEmpty ? "All rows of the list." : "Rows that match the filter: \(filter.text)."
        case 1: "\(ids[0])"
        default: "The \(ids.count) selected rows:"
        }
    }
}
