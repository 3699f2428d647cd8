/// Writes a table as CSV (RFC 4180), for spreadsheets.
enum CSV {
    static func text(_ heads: [String], _ rows: [[String]]) -> String {
        ([heads] + rows).map { $0.map(cell).joined(separator: ",") + "\r\n" }.joined()
    }

    /// Returns the text of a cell. A leading `'` keeps a spreadsheet from running the cell as a formula.
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

    /// Returns true for a character that a spreadsheet may skip before a formula, such as a byte order mark.
    private static func isInvisible(_ character: Unicode.Scalar) -> Bool {
        character.properties.isWhitespace || [.format, .control].contains(character.properties.generalCategory)
    }

    /// The characters with which a formula begins. Some spreadsheets accept the wide forms too.
    private static let runs: Set<Unicode.Scalar> = ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"]
}
