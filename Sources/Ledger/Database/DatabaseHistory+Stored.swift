import Fulfillment
import Postgres

extension DatabaseHistory {
    private static let statement = PostgresStatement("SELECT database_history() AS history")

    /// Reads the history of the session's present database. In an SQL transaction, this is the database that will
    /// commit.
    ///
    /// Every statement that makes a record done selects `database_history()` itself, in the same SQL transaction and
    /// without an extra round trip. Callers do not remember a session's history. A session that was opened on a standby
    /// can write after the standby is promoted, and then has another timeline. Behind a pooler that shares server
    /// sessions, two SQL transactions of one session may run on two servers. A primary never changes its timeline
    /// during an SQL transaction, so the history that a transaction reads is also that of its COMMIT.
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
