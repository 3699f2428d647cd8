import Fulfillment
import Postgres

/// Leases parked submissions, for a worker or an operator.
enum LeaseParked {
    private static let due = LedgerSQL.statement(PackageResources.take_due_sql)
    private static let mending = LedgerSQL.statement(PackageResources.mend_parked_times_sql)
    private static let suspect = LedgerSQL.statement(PackageResources.take_suspect_sql)
    private static let chosen = LedgerSQL.statement(PackageResources.lease_parked_sql)
    private static let leaving = LedgerSQL.statement(PackageResources.leave_parked_sql)

    struct Taken: Sendable {
        var leased: [LeasedSubmission] = []
        /// Rows whose submission cannot be read: the database refused their data, and nothing mends it.
        var unreadable: [NameBasedUUID] = []
    }

    static func due(
        limit: Int, leaseSeconds: Double, farthestSeconds: Double, in session: PostgresSession
    ) throws -> [LeasedSubmission] {
        try session.execute(mending, [.float8(farthestSeconds), .int8(DueTimes.mendedAtATime)])
        // Committed before anyone looks into them: a take that kills counts.
        let taken = taken(try session.execute(due, [.int8(Int64(limit)), .float8(leaseSeconds)]))
        if !taken.unreadable.isEmpty { try session.execute(leaving, [.uuids(taken.unreadable)]) }
        return taken.leased
    }

    static func suspect(deaths: Int, leaseSeconds: Double, in session: PostgresSession) throws -> SuspectLease {
        let rows = try session.execute(suspect, [.float8(leaseSeconds), .int4(Int32(clamping: deaths))])
        guard rows.count > 0 else { return .none }
        if rows.bool(0, 16) == false {
            return .setAside(
                SetAsideSubmission(
                    submissionID: rows.text(0, 17) ?? "", bundleID: rows.text(0, 18) ?? "",
                    deaths: Int(rows.int4(0, 19) ?? 0)))
        }
        let taken = taken(rows)
        if !taken.unreadable.isEmpty { try session.execute(leaving, [.uuids(taken.unreadable)]) }
        return taken.leased.first.map { .alone($0) } ?? .none
    }

    static func chosen(
        _ filter: ParkedFilter, excluding: [NameBasedUUID], limit: Int, leaseSeconds: Double,
        in session: PostgresSession
    ) throws -> Taken {
        try session.transaction { session in
            let rows = try session.execute(
                chosen,
                [.float8(leaseSeconds), .int8(Int64(limit))] + filter.parameters + [.uuids(excluding)])
            let taken = taken(rows)
            if !taken.unreadable.isEmpty { try session.execute(leaving, [.uuids(taken.unreadable)]) }
            return taken
        }
    }

    private static func taken(_ rows: PostgresRows) -> Taken {
        var taken = Taken()
        for row in 0..<rows.count {
            guard let id = rows.uuid(row, 0)?.nameBased else { continue }
            if let leased = LeasedSubmission(id, rows, row) {
                taken.leased.append(leased)
            } else {
                taken.unreadable.append(id)
            }
        }
        return taken
    }
}

extension LeasedSubmission {
    fileprivate init?(_ id: NameBasedUUID, _ rows: PostgresRows, _ row: Int) {
        guard let topic = rows.text(row, 1), let partition = rows.int4(row, 2), let offset = rows.int8(row, 3),
            let timestamp = rows.timestamp(row, 4), let content = rows.bytes(row, 5), let proof = rows.bytes(row, 6),
            case .submission(let submission) = SubmissionDecoder().decode(rows.bytes(row, 8), signatureHeaders: []),
            let reason = rows.text(row, 9).flatMap(ParkingReason.init(rawValue:)),
            let lease = rows.timestampMicroseconds(row, 15)
        else { return nil }
        self.init(
            id: id, submission: submission,
            position: RecordPosition(
                topic: topic, partition: Int32(truncatingIfNeeded: partition), offset: offset, timestamp: timestamp,
                content: Digest256(bytes: content)),
            proof: Digest256(bytes: proof), traceparent: rows.text(row, 7), reason: reason,
            history: WaitingHistory(rows, row, firstColumn: 10, tries: 16), isDue: rows.bool(row, 14) ?? false,
            lease: lease)
    }
}
