import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// Rejects a player's holds and parked submissions for an operator. A worker publishes the events.
public struct PlayerRejection: Sendable {
    private static let batch = 100

    private static let listingHolds = LedgerSQL.statement(PackageResources.list_player_holds_sql)

    let pool: PostgresPool
    let player: PlayerID

    public init(of player: PlayerID, in pool: PostgresPool) {
        self.player = player
        self.pool = pool
    }

    /// Rejects the player's holds and parked submissions. Some may stay, which `PlayerErasure.waiting` counts. Throws a
    /// `PostgresError`.
    public func run(by operatorName: String, at now: Timestamp) async throws {
        try await rejectHolds(operatorName, now)
        try await ParkedRejection(pool: pool, by: operatorName).run(of: player)
    }

    private func rejectHolds(_ operatorName: String, _ now: Timestamp) async throws {
        let store = HoldAdministration(pool: pool)
        var before: [String] = []
        while true {
            let held = try await pool.run { [player] session in
                let rows = try session.execute(Self.listingHolds, [.text(player.text), .int8(Int64(Self.batch))])
                let id = try rows.column("transaction_id")
                return (0..<rows.count).compactMap { rows.text($0, id) }
            }
            // If the list equals the last round's list, none of these holds could be rejected.
            if held.isEmpty || held == before { return }
            before = held
            for transaction in held {
                _ = try await store.reject(
                    HoldFilter(id: transaction, playerID: player.text), by: operatorName, at: now)
            }
        }
    }
}
