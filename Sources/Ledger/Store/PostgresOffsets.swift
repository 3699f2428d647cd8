import Fulfillment
import Postgres

/// The offsets in PostgreSQL. A replica has its primary's log from the beginning up to some place: with a note it also
/// has every decision that was committed before it.
public final class PostgresOffsets: DurableOffsets {
    private static let reading = LedgerSQL.statement(PackageResources.durable_offsets_sql)
    private static let noting = LedgerSQL.statement(PackageResources.note_durable_offsets_sql)
    private static let departing = LedgerSQL.statement(PackageResources.note_departures_sql)
    private static let waitingForDisk = LedgerSQL.statement(PackageResources.wait_for_disk_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Throws a `PostgresError`.
    public func read(topic: String, partitions: [Int32]) async throws -> DurableProgress {
        try await pool.run { session in
            let history = try DatabaseHistory.read(in: session)
            let rows = try session.execute(Self.reading, [.text(topic), .int4Array(partitions)])
            return DurableProgress(
                history: history, offsets: Self.byPartition(rows, 1), departures: Self.byPartition(rows, 2))
        }
    }

    /// Throws a `PostgresError`.
    public func note(_ offsets: [Int32: Int64], topic: String, in history: DatabaseHistory) async throws -> Bool {
        let sorted = offsets.sorted { $0.key < $1.key }
        return try await pool.run { session in
            try session.transaction { session in
                guard try DatabaseHistory.read(in: session) == history else { return false }
                try session.execute(Self.waitingForDisk)
                try session.execute(
                    Self.noting,
                    [.text(topic), .int4Array(sorted.map(\.key)), .int8Array(sorted.map(\.value))])
                return true
            }
        }
    }

    /// Throws a `PostgresError`.
    public func noteDepartures(_ partitions: [Int32], topic: String) async throws -> [Int32: Int64] {
        try await pool.run { session in
            let rows = try session.execute(Self.departing, [.text(topic), .int4Array(partitions.sorted())])
            return Self.byPartition(rows, 1)
        }
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
