import Fulfillment
import PlantedFaults
import Postgres

/// One consumer group's checkpoints in PostgreSQL. A replica has its primary's log from the beginning up to some place:
/// with a checkpoint it also has every decision that was committed before it.
public final class PostgresCheckpoints: OffsetCheckpoints {
    private static let reading = LedgerSQL.statement(PackageResources.read_offset_checkpoints_sql)
    private static let adopting = LedgerSQL.statement(PackageResources.adopt_durable_offsets_sql)
    private static let locking = LedgerSQL.statement(PackageResources.lock_offset_checkpoints_sql)
    private static let writing = LedgerSQL.statement(PackageResources.write_offset_checkpoints_sql)
    private static let departing = LedgerSQL.statement(PackageResources.count_departures_sql)
    private static let waitingForDisk = LedgerSQL.statement(PackageResources.wait_for_disk_sql)

    private let pool: PostgresPool
    private let group: String

    /// - Parameter group: the consumer group's id.
    public init(pool: PostgresPool, group: String) {
        self.pool = pool
        self.group = group
    }

    /// Throws a `PostgresError`.
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
                history: history, checkpoints: Self.checkpoints(rows), departures: Self.byPartition(rows, 4))
        }
    }

    /// Throws a `PostgresError`.
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

    /// Returns the rows that held something else.
    private func compareAndSet(
        _ writes: [Int32: CheckpointWrite], _ topic: String, in session: PostgresSession
    ) throws -> [Int32: OffsetCheckpoint?] {
        let all = writes.keys.sorted()
        if PlantedFault.checkpointNotCompared.isPlanted { return try overwrite(writes, topic, in: session) }
        let found = try locked(all, topic, in: session)
        let matching = all.filter { found[$0] == writes[$0]?.expected }
        let written = try insert(matching, of: writes, topic, in: session)
        var refused = writes.mapValues { _ in OffsetCheckpoint?.none }
        for row in 0..<written.count {
            if let partition = written.int4(row, 0) { refused[Int32(truncatingIfNeeded: partition)] = nil }
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

    /// Planted: the rows' versions are made to match.
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
        Self.checkpoints(try session.execute(Self.locking, [.text(group), .text(topic), .int4Array(partitions)]))
    }

    /// Throws a `PostgresError`.
    public func countDepartures(_ partitions: [Int32], topic: String) async throws -> [Int32: Int64] {
        try await pool.run { [group] session in
            let rows = try session.execute(
                Self.departing, [.text(group), .text(topic), .int4Array(partitions.sorted())])
            return Self.byPartition(rows, 1)
        }
    }

    private static func checkpoints(_ rows: PostgresRows) -> [Int32: OffsetCheckpoint] {
        var found: [Int32: OffsetCheckpoint] = [:]
        for row in 0..<rows.count {
            guard let partition = rows.int4(row, 0), let next = rows.int8(row, 1), let writer = rows.int8(row, 2),
                let version = rows.int8(row, 3)
            else { continue }
            found[Int32(truncatingIfNeeded: partition)] = OffsetCheckpoint(
                nextOffset: next, writer: writer, version: version)
        }
        return found
    }

    private static func byPartition(_ rows: PostgresRows, _ column: Int) -> [Int32: Int64] {
        var values: [Int32: Int64] = [:]
        for row in 0..<rows.count {
            guard let partition = rows.int4(row, 0), let value = rows.int8(row, column) else { continue }
            values[Int32(truncatingIfNeeded: partition)] = value
        }
        return values
    }
}
