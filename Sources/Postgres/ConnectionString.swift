import CLibPQ

enum ConnectionString {
    /// Returns a connection string's values, by libpq's keyword. The error contains no part of the string.
    static func parse(_ string: String) throws(PostgresError) -> [String: String] {
        var problem: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(string, &problem) else {
            defer { PQfreemem(problem) }
            let text = problem.map { Redaction.connectionString(String(cString: $0)) } ?? "out of memory"
            throw PostgresError(sqlState: nil, message: "not a connection string: \(text)", kind: .other)
        }
        defer { PQconninfoFree(options) }
        var values: [String: String] = [:]
        var option = options
        // The array ends with a null keyword.
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        return values
    }
}
