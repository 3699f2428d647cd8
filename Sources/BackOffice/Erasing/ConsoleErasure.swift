import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// The erasure of a player from the console's changes. An entry keeps its operator and its change. It loses its note,
/// which may name the player, and ids that a game server made up for the player.
enum ConsoleErasure {
    private static let erasing = LedgerSQL.statement(PackageResources.erase_console_changes_sql)

    /// Runs in the SQL transaction that replaces these ids, because nothing finds the player by them afterwards.
    static func run(
        _ pseudonym: PlayerID, submissions: [String?], transactions: [String?], in session: PostgresSession
    ) throws {
        try session.execute(erasing, [.text(pseudonym.text), .textArray(submissions), .textArray(transactions)])
    }
}
