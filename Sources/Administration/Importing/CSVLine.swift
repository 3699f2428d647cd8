/// One line of a CSV file (RFC 4180, without line breaks in fields).
enum CSVLine {
    /// Returns the fields of a line. Nil if a quotation mark is not closed, or if text follows a closing quotation
    /// mark.
    static func fields(_ line: [UInt8]) -> [[UInt8]]? {
        var fields: [[UInt8]] = []
        var index = 0
        while true {
            var field: [UInt8] = []
            if index < line.count, line[index] == UInt8(ascii: "\"") {
                index += 1
                while true {
                    guard index < line.count else { return nil }
                    if line[index] == UInt8(ascii: "\"") {
                        index += 1
                        // Two quotation marks in a quoted field stand for one quotation mark.
                        guard index < line.count, line[index] == UInt8(ascii: "\"") else { break }
                    }
                    field.append(line[index])
                    index += 1
                }
                guard index == line.count || line[index] == UInt8(ascii: ",") else { return nil }
            } else {
                while index < line.count, line[index] != UInt8(ascii: ",") {
                    field.append(line[index])
                    index += 1
                }
            }
            fields.append(field)
            if index == line.count { return fields }
            index += 1
        }
    }
}
