extension PostgresSession {
    /// Begins a transaction whose BEGIN was put off.
    func beginNow() throws(PostgresError) {
        if state == .deferred { try begin() }
    }

    /// - Parameter more: statements that follow BEGIN in the same round trip.
    func begin(_ more: String = "") throws(PostgresError) {
        let words = beginning + more
        try retryingWhereEnded { session throws(PostgresError) in
            _ = try session.use { connection throws(PostgresError) in try connection.run(words) }
        }
        state = .begun
    }

    /// Sends BEGIN and the transaction's first statements in one round trip. Returns no rows if it sent only
    /// BEGIN, because a statement is not prepared yet.
    func begin(with calls: [PostgresCall]) throws(PostgresError) -> [PostgresRows] {
        guard configuration.preparedStatements, try connected().maySendAtOnce(calls) else {
            try begin()
            return []
        }
        let words = beginning
        return try retryingWhereEnded { session throws(PostgresError) in
            let connection = try session.connected()
            // A new connection has nothing prepared yet.
            guard connection.maySendAtOnce(calls) else {
                try session.begin()
                return []
            }
            // From here on the server may be in a transaction, whatever becomes of the statements.
            session.state = .begun
            return try session.use { _ throws(PostgresError) in try connection.begin(words, with: calls) }
        }
    }

    /// Runs `body` once more if a reused connection ended before it: without COMMIT nothing was done. A session that
    /// hangs gets no second run, because its statements may hold locks.
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

    /// The words that begin a transaction. They name its level, whatever default the database or the role has: a
    /// decision under a lock must see the rows that were committed before the lock was had.
    ///
    /// They do not say that the transaction may write, because somebody may have made the server read-only on purpose.
    private var beginning: String {
        let words = "BEGIN ISOLATION LEVEL READ COMMITTED"
        return configuration.preparedStatements ? words : words + "; " + configuration.transactionStatements
    }

    func commit() throws(PostgresError) {
        // If the connection was lost before, connected() says so, and COMMIT is never sent.
        _ = try connected()
        let tag: String
        do {
            isCommitting = true
            defer { isCommitting = false }
            tag = try use { connection throws(PostgresError) in try connection.commit() }
        } catch {
            // An answer that comes too late is such an error, too.
            throw error.kind == .connection ? error.with(kind: .commitOutcomeUnknown) : error
        }
        guard tag == "COMMIT" else {
            throw PostgresError(
                sqlState: "25P02", message: "PostgreSQL rolled the transaction back: a statement had failed")
        }
    }

    /// Rolls back. A failure leaves nothing to undo, because a server without its connection rolls back by itself.
    func rollback() {
        guard let connection, connection.isAlive else { return drop() }
        do {
            _ = try connection.run("ROLLBACK")
        } catch {
            _ = dropIfUnusable(after: error)
            drop()
        }
    }
}
