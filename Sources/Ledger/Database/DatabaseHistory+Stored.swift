import Fulfillment
import Postgres

extension DatabaseHistory {
    private static let statement = PostgresStatement("SELECT database_history() AS history")

    /// Reads the history of the database that the session works in now. Inside an SQL transaction this is the database
    /// that will commit the transaction.
    ///
    /// Every statement that makes a record count as done selects `database_history()` itself, in the same SQL
    /// transaction and without a round trip of its own. Callers do not remember the history by session. A session that
    /// was opened on a standby can write once the standby is promoted, and is on another timeline then. Behind a pooler
    /// that shares server sessions, two SQL transactions of one session may run on two servers. A primary never changes
    /// its timeline while a transaction runs on it, so the history that a transaction reads is true of its COMMIT.
    static func read(in session: PostgresSession) throws -> DatabaseHistory {
        let rows = try session.execute(statement)
        guard let history = rows.history(0, try rows.column("history")) else {
            throw PostgresError(sqlState: nil, message: "the database has no history", kind: .other)
        }
        return history
    }
}

extension PostgresRows {
    func history(_ row: Int, _ column: PostgresColumn) -> DatabaseHistory? {
        text(row, column).map { DatabaseHistory($0) }
    }
}
