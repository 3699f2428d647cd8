import Fulfillment
import NamesAndTimes
import PlantedFaults
import Postgres

/// One consumer group's checkpoints in PostgreSQL. A standby that has a checkpoint also has every decision that was
/// committed before this checkpoint. Every function throws a `PostgresError`.
public final class PostgresCheckpoints: OffsetCheckpoints {
    private static let reading = LedgerSQL.statement(PackageResources.find_offset_checkpoints_sql)
    private static let adopting = LedgerSQL.statement(PackageResources.adopt_durable_offsets_sql)
    private static let locking = LedgerSQL.statement(PackageResources.lock_offset_checkpoints_sql)
    private static let writing = LedgerSQL.statement(PackageResources.upsert_offset_checkpoints_sql)
    private static let findingDecidedAgain = LedgerSQL.statement(PackageResources.find_offsets_decided_again_sql)
    private static let keepingDecidedAgain = LedgerSQL.statement(PackageResources.upsert_offsets_decided_again_sql)
    private static let findingLostClaims = LedgerSQL.statement(PackageResources.find_lost_claims_sql)
    private static let endingLostClaims = LedgerSQL.statement(PackageResources.update_lost_claims_sql)
    private static let departing = LedgerSQL.statement(PackageResources.increment_departures_sql)
    /// Makes COMMIT of this SQL transaction wait for the disk. The disk then also has all earlier commits.
    private static let waitingForDisk = PostgresStatement(
        """
        SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'
        """)

    private let pool: PostgresPool
    private let group: String

    /// - Parameter group: the consumer group's id.
    public init(pool: PostgresPool, group: String) {
        self.pool = pool
        self.group = group
    }

    public func read(topic: String, partitions: [Int32]) async throws -> StoredCheckpoints {
        try await pool.run { [self] session in
            let history = try DatabaseHistory.read(in: session)
            let parameters: [PostgresParameter] = [.text(group), .text(topic), .int4Array(partitions)]
            var rows = try session.execute(Self.reading, parameters)
            if rows.count < partitions.count {
                try session.execute(Self.adopting, parameters)
                rows = try session.execute(Self.reading, parameters)
            }
            return StoredCheckpoints(
                history: history, checkpoints: try Self.checkpoints(rows),
                departures: try Self.departures(rows),
                decidedAgain: try Self.lostDecisions(try session.execute(Self.findingDecidedAgain, parameters)))
        }
    }

    public func keepDecidedAgain(_ ends: [Int32: Int64], topic: String, since: Timestamp?) async throws {
        let partitions = ends.keys.sorted()
        try await pool.run { [group] session in
            _ = try session.execute(
                Self.keepingDecidedAgain,
                [
                    .text(group), .text(topic), .int4Array(partitions),
                    .int8Array(partitions.compactMap { ends[$0] }),
                    .timestamptz(unixMicroseconds: since.map { $0.milliseconds * 1000 }),
                ])
        }
    }

    public func lostClaims() async throws -> LostClaims? {
        try await pool.run { [group] session in
            let rows = try session.execute(Self.findingLostClaims, [.text(group)])
            let (since, noticed) = (try rows.column("since"), try rows.column("noticed_at"))
            guard rows.count == 1, let from = rows.timestampMicroseconds(0, since),
                let noticedAt = rows.timestampMicroseconds(0, noticed)
            else { return nil }
            return LostClaims(
                since: Timestamp(milliseconds: from / 1000), noticedAt: Timestamp(milliseconds: noticedAt / 1000))
        }
    }

    public func entered(_ claims: LostClaims) async throws {
        try await pool.run { [group] session in
            _ = try session.execute(
                Self.endingLostClaims,
                [
                    .text(group), .timestamptz(unixMicroseconds: claims.since.milliseconds * 1000),
                    .timestamptz(unixMicroseconds: claims.noticedAt.milliseconds * 1000),
                ])
        }
    }

    public func write(
        _ writes: [Int32: CheckpointWrite], topic: String, in required: DatabaseHistory?
    ) async throws -> CheckpointResult {
        try await pool.run { [self] session in
            try session.transaction { session in
                let history = try DatabaseHistory.read(in: session)
                guard required == nil || history == required else { return CheckpointResult(history: history) }
                try session.execute(Self.waitingForDisk)
                return CheckpointResult(history: history, refused: try compareAndSet(writes, topic, in: session))
            }
        }
    }

    /// Writes the checkpoints whose rows are as expected. Returns the other partitions' rows; nil for a missing row.
    private func compareAndSet(
        _ writes: [Int32: CheckpointWrite], _ topic: String, in session: PostgresSession
    ) throws -> [Int32: OffsetCheckpoint?] {
        let all = writes.keys.sorted()
        if PlantedFault.checkpointNotCompared.isPlanted { return try overwrite(writes, topic, in: session) }
        let found = try locked(all, topic, in: session)
        let matching = all.filter { found[$0] == writes[$0]?.expected }
        let written = try insert(matching, of: writes, topic, in: session)
        var refused = writes.mapValues { _ in OffsetCheckpoint?.none }
        let column = try written.column("partition")
        for row in 0..<written.count {
            if let partition = written.int4(row, column) { refused[Int32(truncatingIfNeeded: partition)] = nil }
        }
        guard !refused.isEmpty else { return [:] }
        let now = try locked(refused.keys.sorted(), topic, in: session)
        for partition in refused.keys { refused[partition] = .some(now[partition]) }
        return refused
    }

    private func insert(
        _ partitions: [Int32], of writes: [Int32: CheckpointWrite], _ topic: String, in session: PostgresSession
    ) throws -> PostgresRows {
        let new = partitions.compactMap { writes[$0]?.new }
        return try session.execute(
            Self.writing,
            [
                .text(group), .text(topic), .int4Array(partitions), .int8Array(new.map(\.nextOffset)),
                .int8Array(new.map(\.writer)), .int8Array(new.map(\.version)),
            ])
    }

    /// A planted fault: overwrites the rows without comparing them.
    private func overwrite(
        _ writes: [Int32: CheckpointWrite], _ topic: String, in session: PostgresSession
    ) throws -> [Int32: OffsetCheckpoint?] {
        let partitions = writes.keys.sorted()
        let forgetting = PostgresStatement(
            "DELETE FROM offset_checkpoints WHERE group_id = $1 AND topic = $2 AND partition = ANY ($3::int4[])")
        try session.execute(forgetting, [.text(group), .text(topic), .int4Array(partitions)])
        _ = try insert(partitions, of: writes, topic, in: session)
        return [:]
    }

    private func locked(
        _ partitions: [Int32], _ topic: String, in session: PostgresSession
    ) throws -> [Int32: OffsetCheckpoint] {
        try Self.checkpoints(try session.execute(Self.locking, [.text(group), .text(topic), .int4Array(partitions)]))
    }

    public func countDepartures(_ partitions: [Int32], topic: String) async throws -> [Int32: Int64] {
        try await pool.run { [group] session in
            let rows = try session.execute(
                Self.departing, [.text(group), .text(topic), .int4Array(partitions.sorted())])
            return try Self.departures(rows)
        }
    }

    private static func checkpoints(_ rows: PostgresRows) throws -> [Int32: OffsetCheckpoint] {
        let (partitions, offsets) = (try rows.column("partition"), try rows.column("next_offset"))
        let (writers, versions) = (try rows.column("writer"), try rows.column("version"))
        var found: [Int32: OffsetCheckpoint] = [:]
        for row in 0..<rows.count {
            guard let partition = rows.int4(row, partitions), let next = rows.int8(row, offsets),
                let writer = rows.int8(row, writers), let version = rows.int8(row, versions)
            else { continue }
            found[Int32(truncatingIfNeeded: partition)] = OffsetCheckpoint(
                nextOffset: next, writer: writer, version: version)
        }
        return found
    }

    private static func departures(_ rows: PostgresRows) throws -> [Int32: Int64] {
        let (partitions, departures) = (try rows.column("partition"), try rows.column("departures"))
        var found: [Int32: Int64] = [:]
        for row in 0..<rows.count {
            guard let partition = rows.int4(row, partitions), let count = rows.int8(row, departures) else { continue }
            found[Int32(truncatingIfNeeded: partition)] = count
        }
        return found
    }

    private static func lostDecisions(_ rows: PostgresRows) throws -> [Int32: LostDecisions] {
        let partitions = try rows.column("partition")
        let (offsets, times) = (try rows.column("below_offset"), try rows.column("fell_back_at"))
        var found: [Int32: LostDecisions] = [:]
        for row in 0..<rows.count {
            guard let partition = rows.int4(row, partitions), let offset = rows.int8(row, offsets),
                let time = rows.timestampMicroseconds(row, times).map({ Timestamp(milliseconds: $0 / 1000) })
            else { continue }
            found[Int32(truncatingIfNeeded: partition)] = LostDecisions(belowOffset: offset, noticedAt: time)
        }
        return found
    }
}
