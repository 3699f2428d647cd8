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

    /// BEGIN and the transaction's first statements in one round trip. Nothing where that cannot be: then only BEGIN was sent.
    func begin(with calls: [PostgresCall]) throws(PostgresError) -> [PostgresRows] {
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

    func commit() throws(PostgresError) {
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
            throw PostgresError(
                sqlState: "25P02", message: "PostgreSQL rolled the transaction back: a statement had failed")
        }
    }

    /// A failure leaves nothing to undo: without its connection the server rolls back by itself.
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
