/// One connection at a time, made at first use and again after a failure. Blocking; confined to its pool's thread.
public final class PostgresSession {
    /// The values that the sessions of a pool share.
    struct Shared: Sendable {
        let gate: ConnectGate
        let stopping: Interrupt
        let hung: HungSessions
    }

    let configuration: PostgresConfiguration
    private let shared: Shared
    private var connection: Connection?
    /// Whether the connection was made for this job: then nobody can have ended it before.
    private var isFresh = false
    /// The pool's user has looked at the database of this connection. False on each new connection.
    public var isVouchedFor = false
    private var state = TransactionState.none
    private var isCommitting = false
    /// The limit of the connection's statements, outside of a transaction that has its own.
    private var answerLimit = Duration.zero

    private enum TransactionState {
        case none
        /// BEGIN goes to the server with the first statement.
        case deferred
        /// There is no other connection than the one it began on.
        case begun
    }

    init(configuration: PostgresConfiguration, shared: Shared) {
        self.configuration = configuration
        self.shared = shared
    }

    /// Runs one statement, outside `transaction` in one of its own.
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

    /// Runs statements one after another, where they begin a transaction in one round trip. The first that fails is the last.
    public func execute(_ calls: [PostgresCall]) throws(PostgresError) -> [PostgresRows] {
        var rows = state == .deferred && !calls.isEmpty ? try begin(with: calls) : []
        for call in calls[rows.count...] { rows.append(try execute(call.statement, call.parameters)) }
        return rows
    }

    /// Has the server prepare a statement and tell the columns that it returns, without running it.
    public func columnNames(of statement: PostgresStatement) throws(PostgresError) -> [String] {
        try beginNow()
        return try use { connection throws(PostgresError) in try connection.columnNames(of: statement.sql) }
    }

    /// Runs any number of statements, separated by semicolons; outside `transaction` all in one, unless the script says
    /// BEGIN and COMMIT itself.
    public func run(script: String) throws(PostgresError) {
        guard !script.utf8.contains(0) else {
            // libpq would take what comes before it for all there is.
            throw PostgresError(sqlState: "22021", message: "a script holds a NUL byte")
        }
        try beginNow()
        _ = try use { connection throws(PostgresError) in try connection.run(script) }
        if state == .begun, script.contains(Self.statementTimeout) { try followTimeout() }
    }

    private static let statementTimeout = "statement_timeout"
    private static let readingTimeout = PostgresStatement(
        "SELECT setting::int8 FROM pg_settings WHERE name = 'statement_timeout'")

    /// A transaction that gives its statements more time, or less, on the server has it on our side too.
    private func followTimeout() throws(PostgresError) {
        let milliseconds = try execute(Self.readingTimeout).int8(0, 0).map { Int($0) }
        connection?.answerLimit = configuration.answerLimit(statementTimeoutMilliseconds: milliseconds)
    }

    /// `COPY … FROM STDIN`: sends the chunks `next` gives until nil, and returns the number of rows. A failure of `next`
    /// aborts the COPY and is thrown on; the rest are `PostgresError`s.
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

    /// Runs `body` between BEGIN and COMMIT, and ROLLBACK when it throws. Do not nest. BEGIN goes to the server in one round
    /// trip with the first statement; without one nothing is sent.
    ///
    /// When the connection fails during COMMIT the error is `.commitOutcomeUnknown`; before it, `.connection`, and
    /// nothing was done. A body that went on after a failed statement gets 25P02 instead of a COMMIT that did nothing.
    ///
    /// - Parameter lockMilliseconds: how long it may wait for a lock; nil: as the session may.
    public func transaction<R>(
        lockMilliseconds: Int? = nil, _ body: (PostgresSession) throws -> R
    ) throws -> R {
        precondition(state == .none, "a transaction in a transaction")
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

    /// Begins a transaction whose BEGIN was put off.
    private func beginNow() throws(PostgresError) {
        if state == .deferred { try begin() }
    }

    /// - Parameter more: statements that follow BEGIN in the same round trip.
    private func begin(_ more: String = "") throws(PostgresError) {
        let words = beginning + more
        try retryingWhereEnded { session throws(PostgresError) in
            _ = try session.use { connection throws(PostgresError) in try connection.run(words) }
        }
        state = .begun
    }

    /// BEGIN and the transaction's first statements in one round trip. Nothing where that cannot be: then only BEGIN was sent.
    private func begin(with calls: [PostgresCall]) throws(PostgresError) -> [PostgresRows] {
        guard configuration.preparedStatements, try connected().maySendAtOnce(calls) else {
            try begin()
            return []
        }
        let words = beginning
        return try retryingWhereEnded { session throws(PostgresError) in
            let connection = try session.connected()
            // A new one has nothing prepared yet.
            guard connection.maySendAtOnce(calls) else {
                try session.begin()
                return []
            }
            // From here on the server may be in a transaction, whatever becomes of the statements.
            session.state = .begun
            return try session.use { _ throws(PostgresError) in try connection.begin(words, with: calls) }
        }
    }

    /// Once more where a connection ended between the look at it and now: without COMMIT nothing was done. Not where the
    /// session hangs: what was sent may hold its locks.
    private func retryingWhereEnded<R>(
        _ body: (PostgresSession) throws(PostgresError) -> R
    ) throws(PostgresError) -> R {
        let isReused = connection != nil && !isFresh
        do {
            return try body(self)
        } catch  where error.kind == .connection && !error.isHung && isReused {
            state = .deferred
            return try body(self)
        }
    }

    /// Each transaction says its own level, in the words that begin it: what is decided under a lock must see what was
    /// committed before the lock was had, whatever the database or the role has for a default. Whether it may write is left
    /// to the server, for whoever made that read-only wants it so.
    private var beginning: String {
        let words = "BEGIN ISOLATION LEVEL READ COMMITTED"
        return configuration.preparedStatements ? words : words + "; " + configuration.transactionStatements
    }

    private func commit() throws(PostgresError) {
        // Lost before: connected() says so, and COMMIT was never sent.
        _ = try connected()
        let tag: String
        do {
            isCommitting = true
            defer { isCommitting = false }
            tag = try use { connection throws(PostgresError) in try connection.commit() }
        } catch {
            // Past its deadline too.
            throw error.kind == .connection ? error.with(kind: .commitOutcomeUnknown) : error
        }
        guard tag == "COMMIT" else {
            throw PostgresError(sqlState: "25P02", message: "a statement had failed: rolled back, not committed")
        }
    }

    /// A failure leaves nothing to undo: without its connection the server rolls back by itself.
    private func rollback() {
        guard let connection, connection.isAlive else { return drop() }
        do {
            _ = try connection.run("ROLLBACK")
        } catch {
            _ = dropIfUnusable(after: error)
            drop()
        }
    }
}

extension PostgresSession {
    /// Before each job of the pool: lets go of a connection that ended while idle, so that the job gets a new one.
    func beginJob() {
        isFresh = false
        // A backend that came to itself would hold its locks until its connection is closed.
        shared.hung.look()
        if let connection, connection.endedWhileIdle() { drop() }
        guard configuration.preparedStatements, let connection else { return }
        // One that fails is let go of: the job gets another.
        do { try connection.renewPlans(afterSeconds: configuration.planSeconds) } catch {
            _ = dropIfUnusable(after: error)
        }
    }

    /// After each job: nothing of it may leak into the next.
    func endJob() {
        if let connection, !(connection.isAlive && connection.isIdle) { drop() }
    }

    func drop() { connection = nil }

    private func dropIfLost() {
        if let connection, !connection.isAlive { drop() }
    }

    private func use<R>(_ body: (Connection) throws(PostgresError) -> R) throws(PostgresError) -> R {
        let connection = try connected()
        do {
            return try body(connection)
        } catch {
            throw dropIfUnusable(after: error)
        }
    }

    /// The same error, after letting go of a connection that is no more use.
    private func dropIfUnusable(after error: PostgresError) -> PostgresError {
        if error.isHung, let connection { shared.hung.leave(connection, wasCommitting: isCommitting) }
        if error.kind == .connection { drop() } else { dropIfLost() }
        return error
    }

    private func connected() throws(PostgresError) -> Connection {
        if let connection { return connection }
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
            // Whatever the reason, such as a wrong password: there is no connection.
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

/// Blocking, and libpq allows one thread at a time on a connection.
@available(*, unavailable)
extension PostgresSession: Sendable {}
