import Ledger
import NamesAndTimes
import Postgres

/// The time that a chart covers, up to now.
public enum TrafficSpan: String, Sendable, CaseIterable {
    case hour
    case day
    case month

    /// The seconds of one bar.
    public var binSeconds: Int64 {
        switch self {
        case .hour: 60
        case .day: 1_800
        case .month: 6 * 3_600
        }
    }

    public var bins: Int {
        switch self {
        case .hour: 60
        case .day: 48
        case .month: 120
        }
    }

    /// True if the chart uses the counts by minute. A chart of a month uses the counts by hour.
    fileprivate var isOfMinutes: Bool { self != .month }
}

/// The fleet's traffic of one span, in bins of equal length.
public struct Traffic: Sendable, Equatable {
    private static let listingMinutes = LedgerSQL.statement(PackageResources.list_traffic_minutes_sql)
    private static let listingHours = LedgerSQL.statement(PackageResources.list_traffic_hours_sql)

    /// The counts of one kind and name, one for each bin, the oldest first.
    public struct Row: Sendable, Equatable {
        public let kind: TrafficCount.Kind
        public let name: String
        public var bins: [Int]

        public var total: Int { bins.reduce(0, +) }
    }

    public let span: TrafficSpan
    /// The rows, sorted by kind and name.
    public let rows: [Row]

    public init(span: TrafficSpan, rows: [Row]) {
        self.span = span
        self.rows = rows
    }

    public func rows(_ kind: TrafficCount.Kind) -> [Row] { rows.filter { $0.kind == kind } }

    /// Reads the counts of the span that ends now. Throws a `PostgresError`.
    public static func read(_ span: TrafficSpan, from pool: PostgresPool) async throws -> Traffic {
        guard let now = try await DatabaseClock.read(from: pool) else { return Traffic(span: span, rows: []) }
        let newest = now.milliseconds / 1000 / span.binSeconds
        let oldest = newest - Int64(span.bins) + 1
        let rows = try await pool.run { session in
            let found = try session.execute(
                span.isOfMinutes ? listingMinutes : listingHours,
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
            return bins.flatMap { kind, names in names.map { Row(kind: kind, name: $0.key, bins: $0.value) } }
        }
        return Traffic(span: span, rows: rows.sorted { ($0.kind.rawValue, $0.name) < ($1.kind.rawValue, $1.name) })
    }
}
