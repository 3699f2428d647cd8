import Fulfillment
import Postgres

extension DatabaseHistory {
    private static let statement = PostgresStatement("SELECT database_history() AS history")

    /// Reads the history of the database that the session works in now. Inside a transaction: of the one that will
    /// commit it.
    ///
    /// Every statement that makes a record count as done selects `database_history()` itself, in the same transaction and
    /// without a round trip of its own. It is not remembered by session: a session that was opened on a standby can write
    /// once that is promoted, and is on another timeline then; and behind a pooler that shares server sessions, two
    /// transactions of one session may be on two servers. A primary never changes its timeline while a transaction runs on
    /// it: what a transaction reads is true of its COMMIT.
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
