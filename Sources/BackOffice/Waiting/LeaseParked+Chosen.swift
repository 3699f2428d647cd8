import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

extension LeaseParked {
    private static let choosing = LedgerSQL.statement(PackageResources.lease_chosen_parked_sql)
    private static let ofPlayer = LedgerSQL.statement(PackageResources.lease_player_parked_sql)

    static func chosen(
        _ filter: ParkedFilter, excluding: [NameBasedUUID], limit: Int, leaseSeconds: Double,
        in session: PostgresSession
    ) throws -> Leased {
        try session.transaction { session in
            let rows = try session.execute(
                choosing,
                [.float8(leaseSeconds), .int8(Int64(limit))] + filter.parameters + [.uuids(excluding)])
            return try leased(rows, in: session)
        }
    }

    /// Leases up to `limit` parked submissions of a player, whether they are due or not.
    static func all(
        of player: PlayerID, excluding: [NameBasedUUID], limit: Int, leaseSeconds: Double, in session: PostgresSession
    ) throws -> Leased {
        try session.transaction { session in
            let rows = try session.execute(
                ofPlayer,
                [.float8(leaseSeconds), .int8(Int64(limit)), .text(player.text), .uuids(excluding)])
            return try leased(rows, in: session)
        }
    }
}
