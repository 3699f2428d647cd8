import Encodings

/// Formats the rows of a list as a table for people, or as JSON.
package protocol RowTable {
    associatedtype Row

    static var columns: [String] { get }
    /// The name of the rows in JSON.
    static var name: String { get }
    /// The text for people if there is no row.
    static var nothing: String { get }

    /// Returns a cell for each of `columns`, without control characters that a terminal would obey.
    static func cells(_ row: Row) -> [String]
    /// Writes a row as JSON. Identifiers stay unchanged, because JSON escapes control characters.
    static func write(_ row: Row, to json: inout JSONWriter)
    /// Returns the last line of a table that does not show every row.
    static func rest(_ shown: Int, of total: Int) -> String
}

extension RowTable {
    package static func rest(_ shown: Int, of total: Int) -> String { "… \(shown) of \(total); --all shows every one" }

    /// Returns the table.
    /// - Parameter total: the number of all rows, also of those that the table does not show.
    package static func text(_ rows: [Row], total: Int, width: Int? = nil) -> String {
        if rows.isEmpty { return nothing }
        var lines = TextTable.lines(columns, rows.map(cells), width: width)
        if rows.count < total { lines.append(rest(rows.count, of: total)) }
        return lines.joined(separator: "\n")
    }

    package static func json(_ rows: [Row], total: Int) -> String {
        var json = JSONWriter(capacity: 256 + 512 * rows.count)
        json.beginObject()
        json.name("total")
        json.number(total)
        json.name(name)
        json.beginArray()
        for row in rows { write(row, to: &json) }
        json.endArray()
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    package static func print(_ rows: [Row], total: Int, asJSON: Bool) {
        Swift.print(asJSON ? json(rows, total: total) : text(rows, total: total, width: Terminal.outputWidth))
    }
}
