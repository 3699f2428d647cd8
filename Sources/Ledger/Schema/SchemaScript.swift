/// The definitions in the text of `schema.sql`, or of a file of `migrations/`.
struct SchemaScript: Sendable {
    struct Index: Sendable, Equatable {
        let name: String
        let table: String
        /// The whole statement, without its semicolon.
        let statement: String

        var concurrently: String {
            statement.replacing(" INDEX IF NOT EXISTS", with: " INDEX CONCURRENTLY IF NOT EXISTS")
        }
    }

    /// The tables, in the order in which the script creates them.
    let tables: [String]
    let indexes: [Index]

    init(_ text: String) {
        tables = Self.names(behind: "\nCREATE TABLE IF NOT EXISTS ", in: text).map(\.name)
        indexes = ["CREATE INDEX IF NOT EXISTS ", "CREATE UNIQUE INDEX IF NOT EXISTS "].flatMap { words in
            Self.names(behind: "\n" + words, in: text).compactMap { name, rest in
                guard let end = rest.firstIndex(of: ";"), let table = Self.table(in: rest[..<end]) else { return nil }
                return Index(name: name, table: table, statement: words + rest[..<end])
            }
        }
    }

    private static func names(behind words: String, in text: String) -> [(name: String, rest: Substring)] {
        text.ranges(of: words).map { range in
            let rest = text[range.upperBound...]
            return (String(rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }), rest)
        }
    }

    private static func table(in statement: Substring) -> String? {
        guard let on = statement.firstRange(of: " ON ") else { return nil }
        let name = statement[on.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        return name.isEmpty ? nil : String(name)
    }
}
