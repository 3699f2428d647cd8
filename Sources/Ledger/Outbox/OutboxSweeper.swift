import Fulfillment
import NamesAndTimes
import Postgres

/// An event in the outbox that the broker has not acknowledged.
public struct OrphanEvent: Sendable, Equatable {
    public let eventID: NameBasedUUID
    /// The record key on the outcomes topic.
    public let recordKey: String
    public let traceparent: String?
    public let event: OutcomeEvent
}

/// Leases events whose worker died between COMMIT and the broker's acknowledgement. Leases end by PostgreSQL's clock.
/// Every function throws a `PostgresError`; call the function again after a failure.
public struct OutboxSweeper: Sendable {
    private static let orphans = LedgerSQL.statement(PackageResources.lease_orphaned_outbox_sql)
    private static let handedOver = LedgerSQL.statement(PackageResources.lease_handed_over_outbox_sql)
    private static let ofPartition = LedgerSQL.statement(PackageResources.lease_partition_outbox_sql)

    private let pool: PostgresPool
    private let floor: PollFloor

    /// - Parameter floor: `LedgerCounts` may use the same object.
    public init(pool: PostgresPool, floor: PollFloor = PollFloor(.outbox)) {
        self.pool = pool
        self.floor = floor
    }

    /// Leases events of any partition, oldest first. No other replica leases these events before the lease ends.
    /// `PurchaseLedger.published` deletes the events after a worker has published them.
    public func leaseOrphans(olderThanSeconds: Double, limit: Int, leaseSeconds: Double) async throws -> [OrphanEvent] {
        let floor = floor
        return try await pool.run { session in
            let found = try floor.look(in: session)
            let isAny = found.isWhole || found.has(olderThanSeconds: olderThanSeconds) || found.hasAhead
            guard let first = found.first, isAny else { return [] }
            return try Self.events(
                try session.execute(
                    Self.orphans,
                    [
                        .float8(olderThanSeconds), .int8(Int64(limit)), .float8(leaseSeconds),
                        .timestamptz(unixMicroseconds: first),
                    ]))
        }
    }

    /// Leases events that operators decided, of any age, oldest first. No other replica leases these events before the
    /// lease ends.
    public func leaseHandedOver(limit: Int, leaseSeconds: Double) async throws -> [OrphanEvent] {
        try await take(Self.handedOver, [.int8(Int64(limit)), .float8(leaseSeconds)])
    }

    /// Leases a partition's events for its new owner, oldest first, of any age, even if another replica has leased
    /// them. The next call returns the same events unless the caller has deleted them. So the caller must lease,
    /// publish and delete events until a call returns none.
    public func leaseUnpublished(
        topic: String, partition: Int32, limit: Int, leaseSeconds: Double = 30
    ) async throws -> [OrphanEvent] {
        try await take(
            Self.ofPartition, [.text(topic), .int4(partition), .int8(Int64(limit)), .float8(leaseSeconds)])
    }

    /// Deletes events that the broker has acknowledged.
    public func deletePublished(_ eventIDs: [NameBasedUUID]) async throws {
        try await pool.run { try DeleteAcknowledged.run(eventIDs, in: $0) }
    }

    private func take(_ statement: PostgresStatement, _ parameters: [PostgresParameter]) async throws -> [OrphanEvent] {
        try await pool.run { try Self.events(try $0.execute(statement, parameters)) }
    }

    private static func events(_ rows: PostgresRows) throws -> [OrphanEvent] {
        let (ids, keys) = (try rows.column("event_id"), try rows.column("record_key"))
        let (traceparent, bytes) = (try rows.column("traceparent"), try rows.column("event"))
        let periods = try rows.column("period_id")
        return (0..<rows.count).compactMap { row in
            guard let id = rows.uuid(row, ids), let key = rows.text(row, keys),
                let event = rows.event(row, bytes, ofPeriod: periods)
            else { return nil }
            return OrphanEvent(
                eventID: id.nameBased, recordKey: key, traceparent: rows.text(row, traceparent), event: event)
        }
    }
}
