/// A table as CSV text of RFC 4180, for spreadsheets.
enum CSV {
    static func text(_ heads: [String], _ rows: [[String]]) -> String {
        ([heads] + rows).map { $0.map(cell).joined(separator: ",") + "\r\n" }.joined()
    }

    /// Returns a cell's text. A leading `'` makes text of a cell that a spreadsheet would run as a formula.
    static func cell(_ text: String) -> String {
        var cell = text
        if let first = text.unicodeScalars.first(where: { runs.contains($0) || !isInvisible($0) }), runs.contains(first)
        {
            cell = "'" + text
        }
        guard cell.unicodeScalars.contains(where: { $0 == "," || $0 == "\"" || $0 == "\n" || $0 == "\r" }) else {
            return cell
        }
        return "\"" + cell.replacing("\"", with: "\"\"") + "\""
    }

    /// Returns whether a spreadsheet may leave the character out before a formula, as it does with a byte order mark.
    private static func isInvisible(_ character: Unicode.Scalar) -> Bool {
        character.properties.isWhitespace || [.format, .control].contains(character.properties.generalCategory)
    }

    /// The characters that begin a formula. Some spreadsheets also take the wide forms for formulas.
    private static let runs: Set<Unicode.Scalar> = ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"]
}
