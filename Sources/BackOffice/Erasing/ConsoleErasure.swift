import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// Erases a player from `console_changes`. An entry keeps its operator and its change. It loses its note, which may
/// name the player. A submission id, which the game server chose, becomes the pseudonym.
enum ConsoleErasure {
    private static let erasing = LedgerSQL.statement(PackageResources.erase_console_changes_sql)

    /// Must run in the SQL transaction that replaces the ids in other tables. Afterwards no query finds the player's
    /// entries.
    static func run(
        _ pseudonym: PlayerID, submissions: [String?], transactions: [String?], in session: PostgresSession
    ) throws {
        try session.execute(erasing, [.text(pseudonym.text), .textArray(submissions), .textArray(transactions)])
    }
}
