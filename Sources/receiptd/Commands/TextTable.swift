/// Rows under a heading, each column as wide as its widest cell.
enum TextTable {
    static func lines(_ heading: [String], _ rows: [[String]]) -> [String] {
        let cells = [heading] + rows
        let widths = heading.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        return cells.map { row in
            row.indices.map { column in
                // The last is not padded: no line ends in blanks.
                let width = column == row.count - 1 ? 0 : widths[column]
                return row[column] + String(repeating: " ", count: max(0, width - row[column].count))
            }.joined(separator: "  ")
        }
    }
}
