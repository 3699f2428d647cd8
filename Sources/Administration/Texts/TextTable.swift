/// Formats rows under a heading. Each column is as wide as its widest cell.
package enum TextTable {
    private static let gap = 2
    private static let minimumWidth = 6

    /// Returns the lines of the table.
    /// - Parameter width: the number of characters in a line. If the table needs more, it cuts the widest columns. It
    ///   never cuts the first column, which names the row.
    package static func lines(_ heading: [String], _ rows: [[String]], width: Int? = nil) -> [String] {
        let cells = [heading] + rows
        var widths = heading.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        if let width { widths = fitting(widths, into: width) }
        return cells.map { row in
            row.indices.map { column in
                let text = row[column].cut(to: widths[column])
                // The last column gets no padding, so that no line ends in blanks.
                let padding = column == row.count - 1 ? 0 : widths[column] - text.count
                return text + String(repeating: " ", count: padding)
            }.joined(separator: String(repeating: " ", count: gap))
        }
    }

    private static func fitting(_ widths: [Int], into width: Int) -> [Int] {
        let limit = width - gap * (widths.count - 1)
        func capped(_ cap: Int) -> [Int] { widths.prefix(1) + widths.dropFirst().map { min($0, cap) } }
        var cap = widths.dropFirst().max() ?? 0
        while cap > minimumWidth, capped(cap).reduce(0, +) > limit { cap -= 1 }
        return capped(cap)
    }
}
