/// A failure of the server, of the connection to it, or of the data given to it.
///
/// Neither `message` nor `description` holds a parameter's value, a row or a password. PostgreSQL's DETAIL, HINT and
/// CONTEXT are never read, and quoted values are cut out of the messages of class 22.
public struct PostgresError: Error, Sendable, Equatable, CustomStringConvertible {
    public enum Kind: Sendable, Equatable {
        /// Lost, refused, shutting down, or connected to a read-only server. The session is closed; its next use
        /// connects again. Nothing of a `transaction` was committed. A statement outside of one may have been.
        case connection
        /// The connection failed while COMMIT was under way: it may or may not have happened. Look before acting.
        case commitOutcomeUnknown
        /// The data given is at fault (SQLSTATE class 22, 23 or 54): the same again fails the same.
        case data
        /// Serialization failure, deadlock, lock or statement timeout, lack of resources: the transaction was rolled
        /// back and may succeed when run again.
        case retriable
        /// Anything else, such as a missing table or privilege: a bug or a wrong set-up.
        case other
    }

    /// The SQLSTATE, five characters. Nil if libpq itself failed, for instance because the connection was lost.
    public let sqlState: String?
    /// One line, in the server's language. Where the connection is at fault it names host, port, user and database.
    public let message: String
    public let kind: Kind
    /// The constraint that refused the data, when there is one.
    public let constraint: String?
    /// True if the server gave no answer in time. Its session was left behind, and may still hold locks.
    public let isHung: Bool
    /// True if nothing was tried, because the last attempt to connect, a moment ago, met this error.
    public let isRepeated: Bool

    /// The kind follows from the SQLSTATE; without one it is `.connection`.
    public init(sqlState: String?, message: String, constraint: String? = nil) {
        // A check without a name is a partition's: the row was on its way to the default partition while its own was
        // attached.
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

    /// Whether the same work may succeed later. After `.commitOutcomeUnknown` it may also have succeeded already.
    public var isRetriable: Bool {
        switch kind {
        case .connection, .commitOutcomeUnknown, .retriable: true
        case .data, .other: false
        }
    }

    /// Whether a person has to correct the settings or the rights: the server answers, and refuses. Waiting helps only
    /// if somebody does that, for instance replaces a password.
    public var isWrongSettings: Bool {
        guard let sqlState else { return false }
        switch sqlState {
        // The database does not exist, or a right is missing, such as the right to connect.
        case "3D000", "42501": return true
        // A role, or a server setting of the URI, does not exist.
        case "42704", "22023": return kind == .connection
        // 28P01 password, 28000 role or pg_hba.conf.
        default: return sqlState.hasPrefix("28")
        }
    }

    public var description: String {
        "PostgreSQL \(sqlState ?? "connection"): \(message)"
    }
}

extension PostgresError.Kind {
    /// Makes the kind of a SQLSTATE, by https://www.postgresql.org/docs/15/errcodes-appendix.html
    init(sqlState: String) {
        switch sqlState {
        // Shut down, crashed, starting up, database dropped, session idle for too long (in a transaction).
        case "57P01", "57P02", "57P03", "57P04", "57P05", "25P03": self = .connection
        // Read-only: after a fail-over the old primary is no use; a new connection may find the new one.
        case "25006": self = .connection
        // Serialization failure, deadlock, lock not available, cancelled (by statement_timeout).
        case "40001", "40P01", "55P03", "57014": self = .retriable
        // A prepared statement that a connection pooler has lost: the session prepares it anew.
        case "26000": self = .retriable
        default:
            switch sqlState.prefix(2) {
            case "08": self = .connection
            // 54: a limit of the server's, such as a key that is too long for its index.
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
