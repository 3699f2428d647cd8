/// The way to connect, and the limits of a session.
public struct PostgresConfiguration: Sendable {
    /// `postgresql://…`, or libpq's `key=value` form. Its values win over the settings below.
    let uri: String
    /// The URI for the next connect, as after a rotated password. Nil, or what libpq cannot read: `uri` holds.
    let latestURI: @Sendable () -> String?
    let applicationName: String
    /// Prepare each statement once a connection. Off for PgBouncer in transaction pooling before 1.21.
    let preparedStatements: Bool
    /// Further settings of the server's, for sessions with prepared statements.
    let preparedSessionSettings: [String: String]
    /// Seconds; 0 means no limit.
    let statementTimeoutSeconds: Int
    /// Seconds to wait for a lock; 0 means no limit.
    let lockTimeoutSeconds: Int
    /// Seconds a transaction may do nothing before the server ends its session; 0 means no limit.
    let idleInTransactionTimeoutSeconds: Int
    /// Seconds for each address of the URI.
    let connectTimeoutSeconds: Int
    /// Seconds of silence before the first TCP keepalive; three more follow, 10 s apart.
    let keepalivesIdleSeconds: Int
    /// Milliseconds sent data may stay unacknowledged before the connection counts as lost.
    let tcpUserTimeoutMilliseconds: Int

    /// Seconds that a statement's answer is waited for beyond its `statement_timeout`: the server ends what is slow, and
    /// only what is frozen or cut off comes here.
    let answerMarginSeconds: Int
    /// Seconds that COMMIT is waited for. No time-out of the server's ends one that waits for a synchronous standby.
    let commitSeconds: Int
    /// Seconds for which a session keeps the plans of its prepared statements; 0: until the server makes them anew by itself, which
    /// it does when a table is analyzed. A plan made for tables that were found empty may read whole ones.
    let planSeconds: Int
    /// Seconds that a statement without a `statement_timeout` is waited for.
    static let longestStatementSeconds = 3_600

    /// The timeouts hold for the session, set when it connects; with `preparedStatements` off they are set in each
    /// transaction instead (a pooler shares server sessions among clients), and a statement outside one has none.
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
            // libpq looks at the port only when it connects. A "/" or "@" left as it is in a password ends up here.
            let ports = (options["port"] ?? "").split(separator: ",")
            let valid = ports.allSatisfy { UInt16($0).map { $0 > 0 } ?? false }
            return valid ? nil : "has a port that is not a number from 1 to 65535"
        } catch {
            return error.message
        }
    }

    /// libpq's parameters, by keyword.
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
            // After a fail-over, the server that can be written to.
            "target_session_attrs": "read-write",
        ]
        parameters.merge(given) { _, given in given }
        // Rows are read as UTF-8, whatever the URI says.
        parameters["client_encoding"] = "UTF8"
        return parameters
    }

    /// The SQL that begins a session with prepared statements. Never as startup options: PgBouncer refuses those it
    /// does not know.
    /// - Parameter options: of the URI, which wins.
    func sessionStatements(unlessIn options: String) -> String {
        // The level of statements outside of a transaction. Each transaction says its own level.
        let level = [("default_transaction_isolation", "read committed")]
        let settings = level + timeouts + preparedSessionSettings.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        return settings.filter { !options.contains($0.0) }
            .map { "SET \($0.0) = '\($0.1)'" }
            .joined(separator: "; ") + "; \(Self.waitingForDisk(untilEndOfTransaction: false)); \(Self.readingTimeout)"
    }

    /// The setting that puts every commit on the disk, whatever the server or the URI says: a server that loses a
    /// commit when one of its processes crashes goes on as the same server, so that nobody would notice. A synchronous
    /// standby is waited for only where the server says so.
    private static func waitingForDisk(untilEndOfTransaction isLocal: Bool) -> String {
        "SELECT set_config('synchronous_commit', 'local', \(isLocal)) WHERE current_setting('synchronous_commit') = 'off'"
    }

    /// Milliseconds: the URI may have another.
    private static let readingTimeout = "SELECT setting FROM pg_settings WHERE name = 'statement_timeout'"

    /// Returns the time that an answer is waited for if the server's `statement_timeout` is so many milliseconds.
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
