extension PostgresSession {
    /// Sends BEGIN, if it has not been sent.
    func beginNow() throws(PostgresError) {
        if state == .deferred { try begin() }
    }

    /// Sends BEGIN.
    /// - Parameter more: SQL that follows BEGIN in the same round trip.
    func begin(_ more: String = "") throws(PostgresError) {
        let words = beginning + more
        try retryingWhereEnded { session throws(PostgresError) in
            _ = try session.use { connection throws(PostgresError) in try connection.run(words) }
        }
        state = .begun
    }

    /// Sends BEGIN and the transaction's first statements in one round trip. If one of them is not prepared yet, sends
    /// only BEGIN and returns no rows.
    func begin(with calls: [PostgresCall]) throws(PostgresError) -> [PostgresRows] {
        guard configuration.preparedStatements, try connected().maySendAtOnce(calls) else {
            try begin()
            return []
        }
        let words = beginning
        return try retryingWhereEnded { session throws(PostgresError) in
            let connection = try session.connected()
            // A new connection has no prepared statements.
            guard connection.maySendAtOnce(calls) else {
                try session.begin()
                return []
            }
            // From here on the server may have begun the transaction, even if the statements fail.
            session.state = .begun
            return try session.use { _ throws(PostgresError) in try connection.begin(words, with: calls) }
        }
    }

    /// Runs `body`. If a reused connection ended during `body`, runs `body` again, because without COMMIT nothing was
    /// done. If the session hangs, there is no second run, because the session's statements may have locks.
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

    /// The SQL that begins a transaction. It sets the isolation level, whatever default the database or the role has. A
    /// decision under a lock must see the rows committed before the transaction got the lock.
    ///
    /// The SQL does not set READ WRITE, because an operator may have made the server read-only on purpose.
    private var beginning: String {
        let words = "BEGIN ISOLATION LEVEL READ COMMITTED"
        return configuration.preparedStatements ? words : words + "; " + configuration.transactionStatements
    }

    func commit() throws(PostgresError) {
        // If the connection was lost before, `connected()` throws, and COMMIT is never sent.
        _ = try connected()
        let tag: String
        do {
            isCommitting = true
            defer { isCommitting = false }
            tag = try use { connection throws(PostgresError) in try connection.commit() }
        } catch {
            // An answer after the deadline is a `.connection` error too.
            throw error.kind == .connection ? error.with(kind: .commitOutcomeUnknown) : error
        }
        guard tag == "COMMIT" else {
            throw PostgresError(
                sqlState: "25P02", message: "PostgreSQL rolled the transaction back: a statement had failed")
        }
    }

    /// Rolls back. If ROLLBACK fails, the connection is closed, and the server rolls back by itself.
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
