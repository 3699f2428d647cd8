/// The way to connect, and the limits of a session.
public struct PostgresConfiguration: Sendable {
    /// `postgresql://…`, or libpq's `key=value` form. Its values win over the settings below.
    let uri: String
    /// Returns the URI for the next connect, as after a rotated password. `uri` holds if it returns nil, or a text that
    /// libpq cannot read.
    let latestURI: @Sendable () -> String?
    let applicationName: String
    /// True if a connection prepares each statement once. Off for PgBouncer in transaction pooling before 1.21.
    let preparedStatements: Bool
    /// Further settings of the server for sessions with prepared statements.
    let preparedSessionSettings: [String: String]
    /// The statement time-out of the server in seconds; 0 means no limit.
    let statementTimeoutSeconds: Int
    /// Seconds to wait for a lock; 0 means no limit.
    let lockTimeoutSeconds: Int
    /// Seconds a transaction may do nothing before the server ends its session; 0 means no limit.
    let idleInTransactionTimeoutSeconds: Int
    /// Seconds for the connection to each address of the URI.
    let connectTimeoutSeconds: Int
    /// Seconds of silence before the first TCP keepalive; three more follow, 10 s apart.
    let keepalivesIdleSeconds: Int
    /// Milliseconds sent data may stay unacknowledged before the connection counts as lost.
    let tcpUserTimeoutMilliseconds: Int

    /// Seconds to wait for a statement's answer beyond its `statement_timeout`. The server ends slow statements, so
    /// that only a frozen or cut-off session reaches this limit.
    let answerMarginSeconds: Int
    /// Seconds to wait for COMMIT. No time-out of the server ends a COMMIT that waits for a synchronous standby.
    let commitSeconds: Int
    /// Seconds for which a session keeps the plans of its prepared statements. With 0 it keeps them until the server
    /// makes new ones, which happens when a table is analyzed. A plan made for empty tables may read whole ones later.
    let planSeconds: Int
    /// Seconds to wait for a statement that has no `statement_timeout`.
    static let longestStatementSeconds = 3_600

    /// The time-outs are set for the session when it connects. With `preparedStatements` off they are set in each
    /// transaction, because a pooler shares server sessions among clients. A statement outside of one then has none.
    public init(
        uri: String, latestURI: @escaping @Sendable () -> String? = { nil }, applicationName: String,
        preparedStatements: Bool = true,
        preparedSessionSettings: [String: String] = [:], statementTimeoutSeconds: Int = 30,
        lockTimeoutSeconds: Int = 10, idleInTransactionTimeoutSeconds: Int = 60, connectTimeoutSeconds: Int = 5,
        keepalivesIdleSeconds: Int = 30, tcpUserTimeoutMilliseconds: Int = 30_000, answerMarginSeconds: Int = 5,
        commitSeconds: Int = 30, planSeconds: Int = 10
    ) {
        self.uri = uri
        self.latestURI = latestURI
        self.applicationName = applicationName
        self.preparedStatements = preparedStatements
        self.preparedSessionSettings = preparedSessionSettings
        self.statementTimeoutSeconds = statementTimeoutSeconds
        self.lockTimeoutSeconds = lockTimeoutSeconds
        self.idleInTransactionTimeoutSeconds = idleInTransactionTimeoutSeconds
        self.connectTimeoutSeconds = connectTimeoutSeconds
        self.keepalivesIdleSeconds = keepalivesIdleSeconds
        self.tcpUserTimeoutMilliseconds = tcpUserTimeoutMilliseconds
        self.answerMarginSeconds = answerMarginSeconds
        self.commitSeconds = commitSeconds
        self.planSeconds = planSeconds
    }

    /// Returns the fault of a connection string, in words that hold nothing of it; nil when libpq can read it.
    public static func faults(in uri: String) -> String? {
        if uri.allSatisfy(\.isWhitespace) { return "is empty" }
        do {
            let options = try ConnectionString.parse(uri)
            // libpq looks at the port only when it connects. An unescaped "/" or "@" in a password ends up there.
            let ports = (options["port"] ?? "").split(separator: ",")
            let valid = ports.allSatisfy { UInt16($0).map { $0 > 0 } ?? false }
            return valid ? nil : "has a port that is not a number from 1 to 65535"
        } catch {
            return error.message
        }
    }

    /// Returns libpq's parameters, by keyword.
    func parameters() throws(PostgresError) -> [String: String] {
        let latest = latestURI().flatMap { Self.faults(in: $0) == nil ? $0 : nil }
        let given = try ConnectionString.parse(latest ?? uri)
        var parameters = [
            "application_name": applicationName,
            "connect_timeout": String(connectTimeoutSeconds),
            "keepalives": "1",
            "keepalives_idle": String(keepalivesIdleSeconds),
            "keepalives_interval": "10",
            "keepalives_count": "3",
            "tcp_user_timeout": String(tcpUserTimeoutMilliseconds),
            // After a fail-over libpq must find the server that takes writes.
            "target_session_attrs": "read-write",
        ]
        parameters.merge(given) { _, given in given }
        // Rows are read as UTF-8, whatever the URI says.
        parameters["client_encoding"] = "UTF8"
        return parameters
    }

    /// Returns the SQL that begins a session with prepared statements. Its settings are never startup options, because
    /// PgBouncer refuses options that it does not know.
    /// - Parameter options: the options of the URI, which win.
    func sessionStatements(unlessIn options: String) -> String {
        // This level is for statements outside of a transaction. Each transaction names its own level.
        let level = [("default_transaction_isolation", "read committed")]
        let settings = level + timeouts + preparedSessionSettings.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        return settings.filter { !options.contains($0.0) }
            .map { "SET \($0.0) = '\($0.1)'" }
            .joined(separator: "; ") + "; \(Self.waitingForDisk(untilEndOfTransaction: false)); \(Self.readingTimeout)"
    }

    /// Returns the SQL that puts every commit on the disk, whatever the server or the URI says.
    ///
    /// A server that loses a commit when one of its processes crashes goes on as the same server, and nobody would
    /// notice. A commit waits for a synchronous standby only if the server says so.
    private static func waitingForDisk(untilEndOfTransaction isLocal: Bool) -> String {
        "SELECT set_config('synchronous_commit', 'local', \(isLocal)) WHERE current_setting('synchronous_commit') = 'off'"
    }

    /// The query for the session's statement time-out in milliseconds, because the URI may set another one.
    private static let readingTimeout = "SELECT setting FROM pg_settings WHERE name = 'statement_timeout'"

    /// Returns the time to wait for an answer if the server's `statement_timeout` is so many milliseconds.
    func answerLimit(statementTimeoutMilliseconds: Int?) -> Duration {
        let given = statementTimeoutMilliseconds ?? statementTimeoutSeconds * 1000
        return .milliseconds(given > 0 ? given : Self.longestStatementSeconds * 1000) + .seconds(answerMarginSeconds)
    }

    /// The statements of one transaction, after BEGIN.
    var transactionStatements: String {
        timeouts.map { "SET LOCAL \($0.0) = '\($0.1)'" }.joined(separator: "; ")
            + "; \(Self.waitingForDisk(untilEndOfTransaction: true))"
    }

    private var timeouts: [(String, String)] {
        [
            ("statement_timeout", "\(statementTimeoutSeconds)s"), ("lock_timeout", "\(lockTimeoutSeconds)s"),
            ("idle_in_transaction_session_timeout", "\(idleInTransactionTimeoutSeconds)s"),
        ]
    }
}

extension PostgresConfiguration: CustomStringConvertible, CustomDebugStringConvertible {
    /// The text without the URI, which may hold a password.
    public var description: String { "PostgresConfiguration(applicationName: \(applicationName))" }
    public var debugDescription: String { description }
}
