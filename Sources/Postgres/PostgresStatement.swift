/// An SQL statement with `$1`, `$2`… for its parameters. Create it once and keep it, because each creation computes a
/// hash for the name.
public struct PostgresStatement: Sendable, Hashable {
    public let sql: String
    /// The name of the prepared statement. It is a stable hash of the SQL, so every process uses the same name for the
    /// same SQL.
    public let name: String

    public init(_ sql: String) {
        self.sql = sql
        // FNV-1a, 64 bits. The few dozen statements of a process do not collide.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in sql.utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        name = "s" + String(hash, radix: 16)
    }

    public static func == (left: PostgresStatement, right: PostgresStatement) -> Bool { left.sql == right.sql }
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// A statement with its parameters.
public struct PostgresCall: Sendable {
    public let statement: PostgresStatement
    public let parameters: [PostgresParameter]

    public init(_ statement: PostgresStatement, _ parameters: [PostgresParameter]) {
        self.statement = statement
        self.parameters = parameters
    }
}
