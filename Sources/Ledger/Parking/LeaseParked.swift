import Fulfillment
import NamesAndTimes
import Postgres

/// Leases parked submissions, for a worker or an operator.
enum LeaseParked {
    private static let due = LedgerSQL.statement(PackageResources.lease_due_parked_sql)
    static let resetting = LedgerSQL.statement(PackageResources.reset_future_parked_sql)
    private static let suspect = LedgerSQL.statement(PackageResources.lease_suspect_parked_sql)
    private static let chosen = LedgerSQL.statement(PackageResources.lease_chosen_parked_sql)
    private static let ofPlayer = LedgerSQL.statement(PackageResources.lease_player_parked_sql)
    private static let settingAside = LedgerSQL.statement(PackageResources.update_unreadable_parked_sql)

    struct Leased: Sendable {
        var leased: [LeasedSubmission] = []
        /// Rows whose submission cannot be read: the database refused their data, and nothing mends it.
        var unreadable: [NameBasedUUID] = []
    }

    static func due(
        limit: Int, leaseSeconds: Double, mending: DueTimes.Mending, above floor: PollFloor, in session: PostgresSession
    ) throws -> [LeasedSubmission] {
        try mending.mendNowAndThen(in: session)
        guard try floor.mayBeDue(in: session) else { return [] }
        // Committed before anyone looks into them: a take that kills counts.
        let rows = try session.execute(due, [.int8(Int64(limit)), .float8(leaseSeconds)])
        return try leased(rows, in: session).leased
    }

    static func suspect(deaths: Int, leaseSeconds: Double, in session: PostgresSession) throws
        -> SuspectLease<LeasedSubmission, SetAsideSubmission>
    {
        let rows = try session.execute(
            suspect,
            [.float8(leaseSeconds), .int4(Int32(clamping: deaths)), .float8(ParkingPolicy.lastTrySeconds)])
        let (isIsolated, submission) = (try rows.column("is_alone"), try rows.column("submission_id"))
        let (bundle, died) = (try rows.column("bundle_id"), try rows.column("deaths_alone"))
        guard rows.count > 0 else { return .none }
        if rows.bool(0, isIsolated) == false {
            return .setAside(
                SetAsideSubmission(
                    submissionID: rows.text(0, submission) ?? "", bundleID: rows.text(0, bundle) ?? "",
                    deaths: Int(rows.int4(0, died) ?? 0),
                    isTriedAgain: rows.bool(0, try rows.column("is_tried_again")) ?? false))
        }
        return try leased(rows, in: session).leased.first.map { .isolated($0) } ?? .none
    }

    static func chosen(
        _ filter: ParkedFilter, excluding: [NameBasedUUID], limit: Int, leaseSeconds: Double,
        in session: PostgresSession
    ) throws -> Leased {
        try session.transaction { session in
            let rows = try session.execute(
                chosen,
                [.float8(leaseSeconds), .int8(Int64(limit))] + filter.parameters + [.uuids(excluding)])
            return try leased(rows, in: session)
        }
    }

    /// All of a player's, for an operator.
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

    /// Returns leased ones; unreadable ones are set aside.
    private static func leased(_ rows: PostgresRows, in session: PostgresSession) throws(PostgresError) -> Leased {
        var found = Leased()
        let columns = try rows.columns(ParkedColumn.self)
        for row in 0..<rows.count {
            guard let id = rows.uuid(row, columns[.id])?.nameBased else { continue }
            if let leased = LeasedSubmission(id, rows, row, columns) {
                found.leased.append(leased)
            } else {
                found.unreadable.append(id)
            }
        }
        if !found.unreadable.isEmpty { try session.execute(settingAside, [.uuids(found.unreadable)]) }
        return found
    }
}
