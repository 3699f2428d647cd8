/// The settings with which a pool connects, and the limits of its sessions.
public struct PostgresConfiguration: Sendable {
    /// `postgresql://…`, or libpq's `key=value` form. Its values override the settings below.
    let uri: String
    /// A closure that returns the URI for the next connection, for example after a change of the password. If it
    /// returns nil or a text that libpq cannot read, `uri` applies.
    let latestURI: @Sendable () -> String?
    let applicationName: String
    /// True if a connection prepares each statement once. Must be false for PgBouncer before 1.21 in transaction
    /// pooling.
    let preparedStatements: Bool
    /// Further server settings, only for sessions with prepared statements.
    let preparedSessionSettings: [String: String]
    /// The server's statement time-out in seconds; 0 means no limit.
    let statementTimeoutSeconds: Int
    /// Seconds to wait for a lock; 0 means no limit.
    let lockTimeoutSeconds: Int
    /// Seconds for which a transaction may be idle before the server ends its session; 0 means no limit.
    let idleInTransactionTimeoutSeconds: Int
    /// Seconds to connect to each address of the URI.
    let connectTimeoutSeconds: Int
    /// Seconds of silence before the first TCP keepalive. Three more follow, 10 s apart.
    let keepalivesIdleSeconds: Int
    /// Milliseconds for which sent data may stay unacknowledged before the connection counts as lost.
    let tcpUserTimeoutMilliseconds: Int

    /// Seconds to wait for an answer after the statement's `statement_timeout`. The server ends slow statements, so
    /// only a frozen session or a cut connection reaches this limit.
    let answerMarginSeconds: Int
    /// Seconds to wait for COMMIT. No server time-out ends a COMMIT that waits for a synchronous standby.
    let commitSeconds: Int
    /// Seconds after which a session drops the plans of its prepared statements. With 0, a session keeps the plans
    /// until the server makes new plans, when a table is analyzed. A plan for an empty table may later read the whole
    /// table.
    let planSeconds: Int
    /// Seconds to wait for a statement without a `statement_timeout`.
    static let longestStatementSeconds = 3_600

    /// A session sets its time-outs when it connects. If `preparedStatements` is false, the session sets them in each
    /// transaction instead, because a pooler shares server sessions among clients. A statement outside a transaction
    /// then has no time-out.
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

    /// Returns the fault of a connection string with which libpq cannot connect; nil if there is none. The text
    /// contains no part of the string.
    public static func faults(in uri: String) -> String? {
        if uri.allSatisfy(\.isWhitespace) { return "is empty" }
        do {
            let options = try ConnectionString.parse(uri)
            // libpq checks the mode and the port only when it connects. With an unescaped "/" or "@" in a password,
            // part of the password can become the port.
            if let mode = options["sslmode"], !mode.isEmpty, !tlsModes.contains(mode) {
                return "has an sslmode that is none of \(tlsModes.joined(separator: ", "))"
            }
            // libpq skips blanks around each port.
            let ports = (options["port"] ?? "").split(separator: ",").map { $0.filter { !$0.isWhitespace } }
            let valid = ports.allSatisfy { UInt16($0).map { $0 > 0 } ?? false }
            return valid ? nil : "has a port that is not a number from 1 to 65535"
        } catch {
            return error.message
        }
    }

    private static let tlsModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]

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
            // After a fail-over libpq must choose the server that accepts writes.
            "target_session_attrs": "read-write",
        ]
        parameters.merge(given) { _, given in given }
        // Rows are read as UTF-8, so this overrides the URI.
        parameters["client_encoding"] = "UTF8"
        return parameters
    }

    /// Returns the SQL that starts a session with prepared statements. The settings are never startup options, because
    /// PgBouncer refuses options that it does not know.
    /// - Parameter options: the URI's options. A setting named there is left out.
    func sessionStatements(unlessIn options: String) -> String {
        // This level is for statements outside a transaction. Each transaction sets its own level.
        let level = [("default_transaction_isolation", "read committed")]
        let settings = level + timeouts + preparedSessionSettings.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        return settings.filter { !options.contains($0.0) }
            .map { "SET \($0.0) = '\($0.1)'" }
            .joined(separator: "; ") + "; \(Self.waitingForDisk(untilEndOfTransaction: false)); \(Self.readingTimeout)"
    }

    /// Returns SQL that makes every commit wait for the disk, if the server or the URI turned that off.
    ///
    /// Without the wait, a server may lose commits when one of its processes crashes. The server's start time stays the
    /// same, so the worker would not notice the loss. A commit waits for a synchronous standby only if the server is
    /// configured so.
    private static func waitingForDisk(untilEndOfTransaction isLocal: Bool) -> String {
        "SELECT set_config('synchronous_commit', 'local', \(isLocal)) WHERE current_setting('synchronous_commit') = 'off'"
    }

    /// Reads the session's statement time-out in milliseconds, because the URI may set another time-out.
    private static let readingTimeout = "SELECT setting FROM pg_settings WHERE name = 'statement_timeout'"

    /// Returns the time to wait for an answer, from the server's `statement_timeout`. If the parameter is nil, the
    /// configured time-out applies.
    func answerLimit(statementTimeoutMilliseconds: Int?) -> Duration {
        let given = statementTimeoutMilliseconds ?? statementTimeoutSeconds * 1000
        return .milliseconds(given > 0 ? given : Self.longestStatementSeconds * 1000) + .seconds(answerMarginSeconds)
    }

    /// The statements that follow a transaction's BEGIN.
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
    /// The text leaves out the URI, which may contain a password.
    public var description: String { "PostgresConfiguration(applicationName: \(applicationName))" }
    public var debugDescription: String { description }
}
