import Fulfillment
import NamesAndTimes
import Postgres

/// Leases parked submissions for a worker.
package enum LeaseParked {
    private static let due = LedgerSQL.statement(PackageResources.lease_due_parked_sql)
    static let resetting = LedgerSQL.statement(PackageResources.reset_future_parked_sql)
    private static let suspect = LedgerSQL.statement(PackageResources.lease_suspect_parked_sql)
    private static let settingAside = LedgerSQL.statement(PackageResources.update_unreadable_parked_sql)

    package struct Leased: Sendable {
        package var leased: [LeasedSubmission] = []
        /// Rows whose stored submission Swift cannot read. No retry repairs them.
        package var unreadable: [NameBasedUUID] = []
    }

    static func due(
        limit: Int, leaseSeconds: Double, mending: DueTimes.Mending, above floor: PollFloor, in session: PostgresSession
    ) throws -> [LeasedSubmission] {
        try mending.mendNowAndThen(in: session)
        guard try floor.mayBeDue(in: session) else { return [] }
        // The lease is committed before a worker reads the submission. So the column `takes` has counted this lease even
        // if the submission then kills the process.
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

    /// Returns the leased submissions, and sets unreadable rows aside.
    /// - Parameter rows: the rows of a `lease_…_parked` statement.
    package static func leased(_ rows: PostgresRows, in session: PostgresSession) throws(PostgresError) -> Leased {
        var found = Leased()
        for row in try rows.named(ParkedColumn.self) {
            guard let id = row.uuid(.id)?.nameBased else { continue }
            if let leased = LeasedSubmission(id, row) {
                found.leased.append(leased)
            } else {
                found.unreadable.append(id)
            }
        }
        if !found.unreadable.isEmpty { try session.execute(settingAside, [.uuids(found.unreadable)]) }
        return found
    }
}
