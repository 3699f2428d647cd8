/// An error of the server, of the connection to it, or of data sent to it.
///
/// Neither `message` nor `description` contains a parameter's value, a row or a password. PostgreSQL's DETAIL, HINT and
/// CONTEXT are never read, and quoted values are removed from messages of class 22.
public struct PostgresError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Kind: Sendable, Equatable {
        /// The connection is lost or refused, or the server shuts down or is read-only. The session connects again at
        /// its next use. A `transaction` committed nothing; a statement outside a transaction may have been committed.
        case connection
        /// The connection failed during COMMIT. The transaction may be committed, so a caller must look at its rows
        /// before a second run.
        case commitOutcomeUnknown
        /// The data is wrong (SQLSTATE class 22, 23 or 54). Sending it again fails again.
        case data
        /// A serialization failure, a deadlock, a time-out of a lock or statement, or a lack of resources. The server
        /// rolled the transaction back. A second run of the transaction may succeed.
        case retriable
        /// Anything else, such as a missing table or privilege: a bug or a wrong set-up.
        case other
    }

    /// The SQLSTATE, five characters. Nil for an error of libpq itself, such as a lost connection.
    public let sqlState: String?
    /// One line, in the server's language. An error of the connection also names host, port, user and database.
    public let message: String
    public let kind: Kind
    /// The constraint that the data violates, if any.
    public let constraint: String?
    /// True if the server did not answer in time. The pool left the session behind, and the session may still have
    /// locks.
    public let isHung: Bool
    /// True if the pool did not try to connect, because its last attempt, a moment ago, failed with this error.
    public let isRepeated: Bool

    /// Derives the kind from the SQLSTATE. Without a SQLSTATE it is `.connection`.
    public init(sqlState: String?, message: String, constraint: String? = nil) {
        // A check violation without a constraint name comes from a partition: another session attached the row's
        // partition while the row was on its way to the default partition.
        let isOfPartition = sqlState == "23514" && constraint == nil
        self.init(
            sqlState: sqlState, message: message,
            kind: isOfPartition ? .retriable : sqlState.map(Kind.init(sqlState:)) ?? .connection,
            constraint: constraint)
    }

    public init(
        sqlState: String?, message: String, kind: Kind, constraint: String? = nil, isHung: Bool = false,
        isRepeated: Bool = false
    ) {
        self.sqlState = sqlState
        self.message = message
        self.kind = kind
        self.constraint = constraint
        self.isHung = isHung
        self.isRepeated = isRepeated
    }

    /// True if the same work may succeed later. After `.commitOutcomeUnknown` the work may already be done.
    public var isRetriable: Bool {
        switch kind {
        case .connection, .commitOutcomeUnknown, .retriable: true
        case .data, .other: false
        }
    }

    /// True if a person must correct the settings or the rights, because the server answered and refused.
    public var isWrongSettings: Bool {
        guard let sqlState else { return false }
        switch sqlState {
        // The database does not exist, or the role lacks a right, such as the right to connect.
        case "3D000", "42501": return true
        // The role, or a server setting in the URI, does not exist.
        case "42704", "22023": return kind == .connection
        // 28P01 is a wrong password; 28000 is the role or pg_hba.conf.
        default: return sqlState.hasPrefix("28")
        }
    }

    public var description: String {
        "PostgreSQL \(sqlState ?? "connection"): \(message)"
    }
}

extension PostgresError.Kind {
    /// Derives the kind from a SQLSTATE (https://www.postgresql.org/docs/15/errcodes-appendix.html).
    init(sqlState: String) {
        switch sqlState {
        // The server shut down, crashed or starts up, the database was dropped, or a time-out ended an idle session.
        case "57P01", "57P02", "57P03", "57P04", "57P05", "25P03": self = .connection
        // Read-only server: after a fail-over a new connection may reach the new primary.
        case "25006": self = .connection
        // Serialization failure, deadlock, lock not available, cancelled (by statement_timeout).
        case "40001", "40P01", "55P03", "57014": self = .retriable
        // The connection pooler lost a prepared statement: the session will prepare it again.
        case "26000": self = .retriable
        default:
            switch sqlState.prefix(2) {
            case "08": self = .connection
            // 54 is a server limit, such as the size of an index key.
            case "22", "23", "54": self = .data
            case "53": self = .retriable
            default: self = .other
            }
        }
    }
}

extension PostgresError {
    func with(kind: Kind) -> PostgresError { copy(kind: kind) }
    func with(message: String) -> PostgresError { copy(message: message) }
    var repeated: PostgresError { copy(isRepeated: true) }

    private func copy(message: String? = nil, kind: Kind? = nil, isRepeated: Bool? = nil) -> PostgresError {
        PostgresError(
            sqlState: sqlState, message: message ?? self.message, kind: kind ?? self.kind, constraint: constraint,
            isHung: isHung, isRepeated: isRepeated ?? self.isRepeated)
    }
}
