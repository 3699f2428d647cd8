/// A session with one connection at a time. It connects at its first use, and again after a failure. Its calls block,
/// and only its pool's thread may use it.
public final class PostgresSession {
    /// Approves of the database that the session's connection reached, or throws.
    public typealias Vouch = @Sendable (PostgresSession) throws(PostgresError) -> Void

    /// The objects that a pool's sessions share.
    struct Shared: Sendable {
        let gate: ConnectGate
        let stopping: Interrupt
        let hung: HungSessions
    }

    let configuration: PostgresConfiguration
    private let shared: Shared
    var connection: Connection?
    /// True if the present job opened the connection. Then the connection cannot have ended while idle.
    var isFresh = false
    /// The function that must approve the connection's database before a statement of the present job; nil if the job
    /// needs no approval.
    var vouch: Vouch?
    /// True after the connection's approval; false for each new connection.
    private var isVouchedFor = false
    var state = TransactionState.none
    var isCommitting = false
    /// The time limit of the connection's statements. A transaction may have a limit of its own.
    private var answerLimit = Duration.zero

    enum TransactionState {
        case none
        /// BEGIN goes to the server with the first statement.
        case deferred
        /// BEGIN was sent. The transaction can continue only on its connection.
        case begun
    }

    init(configuration: PostgresConfiguration, shared: Shared) {
        self.configuration = configuration
        self.shared = shared
    }

    /// Runs one statement. Outside `transaction`, the statement is a transaction of its own.
    @discardableResult
    public func execute(
        _ statement: PostgresStatement, _ parameters: [PostgresParameter] = []
    ) throws(PostgresError) -> PostgresRows {
        if state == .deferred, let rows = try begin(with: [PostgresCall(statement, parameters)]).first { return rows }
        let prepare = configuration.preparedStatements
        return try use { connection throws(PostgresError) in
            try connection.execute(statement, parameters, prepare: prepare)
        }
    }

    /// Runs statements in order, and ends at the first failure. If they begin a transaction, and the server has already
    /// prepared all of them, they are sent in one round trip.
    public func execute(_ calls: [PostgresCall]) throws(PostgresError) -> [PostgresRows] {
        var rows = state == .deferred && !calls.isEmpty ? try begin(with: calls) : []
        for call in calls[rows.count...] { rows.append(try execute(call.statement, call.parameters)) }
        return rows
    }

    /// Makes the server prepare a statement, and returns the names of its result columns, without running it.
    public func columnNames(of statement: PostgresStatement) throws(PostgresError) -> [String] {
        try beginNow()
        return try use { connection throws(PostgresError) in try connection.columnNames(of: statement.sql) }
    }

    /// Runs statements that are separated by semicolons. Outside `transaction` they are one transaction, unless the
    /// script has its own BEGIN and COMMIT.
    public func run(script: String) throws(PostgresError) {
        guard !script.utf8.contains(0) else {
            // libpq would run only the SQL before the NUL byte.
            throw PostgresError(sqlState: "22021", message: "a script holds a NUL byte")
        }
        try beginNow()
        _ = try use { connection throws(PostgresError) in try connection.run(script) }
        if state == .begun, script.contains(Self.statementTimeout) { try followTimeout() }
    }

    private static let statementTimeout = "statement_timeout"
    private static let readingTimeout = PostgresStatement(
        "SELECT setting::int8 FROM pg_settings WHERE name = 'statement_timeout'")

    /// Sets this process's deadline after a script that changed the transaction's `statement_timeout`.
    private func followTimeout() throws(PostgresError) {
        let milliseconds = try execute(Self.readingTimeout).int8(0, 0).map { Int($0) }
        connection?.answerLimit = configuration.answerLimit(statementTimeoutMilliseconds: milliseconds)
    }

    /// Runs `COPY … FROM STDIN` with the chunks that `next` returns until nil. Returns the number of rows. If `next`
    /// throws, aborts the COPY and throws the same error. Other errors are `PostgresError`s.
    @discardableResult
    public func copyIn(_ statement: String, next: () throws -> [UInt8]?) throws -> Int {
        try beginNow()
        let connection = try connected()
        do {
            return try connection.copyIn(statement, next: next)
        } catch let error as PostgresError {
            throw dropIfUnusable(after: error)
        } catch {
            dropIfLost()
            throw error
        }
    }

    /// Runs `body` between BEGIN and COMMIT, and rolls back if it throws. Do not nest. BEGIN and the first statement
    /// share a round trip; without a statement nothing is sent. With `lockMilliseconds`, BEGIN is sent at once.
    ///
    /// If the connection fails during COMMIT, the error is `.commitOutcomeUnknown`. If the connection fails before
    /// COMMIT, the error is `.connection`, and nothing was done. If `body` ignores the error of a failed statement, the
    /// server rolls back and this function throws 25P02.
    ///
    /// - Parameter lockMilliseconds: the longest wait for a lock; nil keeps the session's limit.
    public func transaction<R>(
        lockMilliseconds: Int? = nil, _ body: (PostgresSession) throws -> R
    ) throws -> R {
        precondition(state == .none, "a transaction cannot begin inside another")
        defer {
            state = .none
            connection?.answerLimit = answerLimit
        }
        if let lockMilliseconds {
            try begin("; SET LOCAL lock_timeout = \(lockMilliseconds)")
        } else {
            state = .deferred
        }
        let value: R
        do {
            value = try body(self)
        } catch {
            if state == .begun { rollback() }
            throw error
        }
        if state == .begun { try commit() }
        return value
    }
}

extension PostgresSession {
    /// Starts a job of the pool. Drops a connection that ended while idle, so that the job gets a new connection.
    func beginJob() {
        isFresh = false
        // Closes connections whose late answers have arrived, because their backends keep their locks until the close.
        shared.hung.look()
        if let connection, connection.endedWhileIdle() { drop() }
        guard configuration.preparedStatements, let connection else { return }
        // If this connection fails, the job gets a new connection.
        do { try connection.renewPlans(afterSeconds: configuration.planSeconds) } catch {
            _ = dropIfUnusable(after: error)
        }
    }

    /// Ends a job. Drops the connection if it is lost, or if the job left a transaction open.
    func endJob() {
        if let connection, !(connection.isAlive && connection.isIdle) { drop() }
    }

    func drop() { connection = nil }

    private func dropIfLost() {
        if let connection, !connection.isAlive { drop() }
    }

    func use<R>(_ body: (Connection) throws(PostgresError) -> R) throws(PostgresError) -> R {
        let connection = try connected()
        do {
            return try body(connection)
        } catch {
            throw dropIfUnusable(after: error)
        }
    }

    /// Drops the connection if the error makes it unusable, and returns the error.
    func dropIfUnusable(after error: PostgresError) -> PostgresError {
        if error.isHung, let connection { shared.hung.leave(connection, wasCommitting: isCommitting) }
        if error.kind == .connection { drop() } else { dropIfLost() }
        return error
    }

    func connected() throws(PostgresError) -> Connection {
        let connection: Connection
        if let present = self.connection { connection = present } else { connection = try open() }
        if let vouch, !isVouchedFor { try run(vouch) }
        return connection
    }

    /// Calls `vouch`, before BEGIN if the transaction's BEGIN has not been sent.
    private func run(_ vouch: Vouch) throws(PostgresError) {
        let before = state
        (state, isVouchedFor) = (.none, true)
        defer { state = before }
        do { try vouch(self) } catch {
            isVouchedFor = false
            throw error
        }
    }

    private func open() throws(PostgresError) -> Connection {
        guard state != .begun else {
            throw PostgresError(sqlState: nil, message: "the transaction's connection was lost", kind: .connection)
        }
        if shared.stopping.isSet { throw Connection.interrupted }
        if let refusal = shared.gate.refusal { throw refusal }
        do {
            let connection = try connect()
            shared.gate.succeeded()
            self.connection = connection
            (isFresh, isVouchedFor) = (true, false)
            return connection
        } catch {
            // Without a connection the kind is `.connection`, whatever the reason, such as a wrong password.
            let error = error.with(kind: .connection)
            shared.gate.failed(error)
            throw error
        }
    }

    private func connect() throws(PostgresError) -> Connection {
        let parameters = try configuration.parameters()
        let connection = try Connection.open(
            parameters, defaultSeconds: configuration.connectTimeoutSeconds, interrupt: shared.stopping,
            hung: shared.hung)
        answerLimit = configuration.answerLimit(statementTimeoutMilliseconds: nil)
        if configuration.preparedStatements {
            let options = parameters["options"] ?? ""
            let rows: PostgresRows
            do { rows = try connection.run(configuration.sessionStatements(unlessIn: options)) } catch {
                if error.isHung { shared.hung.leave(connection, wasCommitting: false) }
                throw error
            }
            let timeout = rows.text(0, 0).flatMap { Int($0) }
            answerLimit = configuration.answerLimit(statementTimeoutMilliseconds: timeout)
        }
        connection.answerLimit = answerLimit
        connection.commitLimit = .seconds(configuration.commitSeconds)
        return connection
    }
}

/// A session blocks, and libpq allows one thread at a time on a connection.
@available(*, unavailable)
extension PostgresSession: Sendable {}
