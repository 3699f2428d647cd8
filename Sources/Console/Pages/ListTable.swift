import NamesAndTimes
import OperationsHTTP

/// A table with the rows of a list. Some columns share one cell, so that a row is not too wide.
struct ListTable {
    let list: any ConsoleList
    let rows: [ListRow]
    var none = "No row matches."
    /// Makes the HTML of an additional first cell of a row, from the row's place on the page and the row. The property
    /// is nil if the rows have no such cell.
    var decisions: ((Int, ListRow) -> String)?

    var html: String {
        let columns = list.columns
        let starts = columns.indices.filter { !columns[$0].isUnder }
        let facts = starts.map { (columns[$0].name, columns[$0].isNumber) }
        let cells = rows.enumerated().map { place, row -> [String] in
            let leading = decisions.map { decide in ["<div class=\"decide\">\(decide(place, row))</div>"] }
            return (leading ?? []) + starts.map { cell(row, $0) }
        }
        let heads = decisions == nil ? facts : [("Decide", false)] + facts
        return ConsolePage.table(list.title, heads, cells, none: none)
    }

    /// Returns a column's cell, and below it the cells of the next columns that have `isUnder`.
    private func cell(_ row: ListRow, _ start: Int) -> String {
        let under = list.columns.indices.dropFirst(start + 1).prefix { list.columns[$0].isUnder }
        let meaning = start == 0 && !row.meaning.isEmpty ? "<p>\(HTMLText.shown(row.meaning))</p>" : ""
        return shown(row, start) + meaning + under.compactMap { below(row, $0) }.joined()
    }

    private func below(_ row: ListRow, _ index: Int) -> String? {
        row.cells[index].isEmpty ? nil : "<small><i>\(list.columns[index].name):</i> \(shown(row, index))</small>"
    }

    private func shown(_ row: ListRow, _ index: Int) -> String {
        let (column, cell) = (list.columns[index], row.cells[index])
        if column.isLink { return cell.isEmpty ? "" : InspectionRow.link(cell) }
        let age = column.isSince ? Timestamp(rfc3339: cell).map { "<small>\(ShownTime.age($0)) ago</small>" } : nil
        return ConsolePage.cell(cell) + (age ?? "")
    }
}
