import NamesAndTimes
import Postgres

/// The workers' counts for the console's charts. Every function throws a `PostgresError`.
public struct TrafficStore: Sendable {
    /// Days for which counts by minute are kept.
    static let minuteDays: Int32 = 2
    /// Days for which counts by hour are kept.
    static let hourDays: Int32 = 90
    /// Rows of one tell at most; further names are not counted.
    static let maximumNames = 400

    private static let adding = LedgerSQL.statement(PackageResources.upsert_traffic_sql)
    private static let listingMinutes = LedgerSQL.statement(PackageResources.list_traffic_minutes_sql)
    private static let listingHours = LedgerSQL.statement(PackageResources.list_traffic_hours_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Adds them to the minute and the hour that have just passed. Each kind and name is given once.
    public func add(_ counts: [TrafficCount]) async throws {
        let told = counts.filter { $0.count > 0 }.prefix(Self.maximumNames)
        guard !told.isEmpty else { return }
        _ = try await pool.run { session in
            try session.execute(
                Self.adding,
                [
                    .textArray(told.map(\.kind.rawValue)), .textArray(told.map(\.name)),
                    .int8Array(told.map { Int64($0.count) }),
                ]
            ).affectedRows
        }
    }

    /// Reads the counts up to now.
    public func read(_ span: TrafficSpan) async throws -> Traffic {
        guard let now = try await DatabaseClock.read(from: pool) else { return Traffic(span: span, rows: []) }
        let newest = now.milliseconds / 1000 / span.binSeconds
        let oldest = newest - Int64(span.bins) + 1
        let rows = try await pool.run { session in
            let found = try session.execute(
                span.isOfMinutes ? Self.listingMinutes : Self.listingHours,
                [.timestamptz(unixMicroseconds: oldest * span.binSeconds * 1_000_000), .int8(span.binSeconds)])
            let (bin, kind) = (try found.column("bin"), try found.column("kind"))
            let (name, count) = (try found.column("name"), try found.column("count"))
            var bins: [TrafficCount.Kind: [String: [Int]]] = [:]
            for row in 0..<found.count {
                guard let number = found.int8(row, bin), (oldest...newest).contains(number),
                    let kind = found.text(row, kind).flatMap(TrafficCount.Kind.init), let name = found.text(row, name)
                else { continue }
                let empty = Array(repeating: 0, count: span.bins)
                bins[kind, default: [:]][name, default: empty][Int(number - oldest)] += Int(found.int8(row, count) ?? 0)
            }
            return bins.flatMap { kind, names in names.map { Traffic.Row(kind: kind, name: $0.key, bins: $0.value) } }
        }
        return Traffic(span: span, rows: rows.sorted { ($0.kind.rawValue, $0.name) < ($1.kind.rawValue, $1.name) })
    }
}
