import Fulfillment
import Postgres

/// A day of the calendar, as Apple's reports have it.
public struct ReportDay: Sendable, Hashable, Comparable {
    /// `2026-11-21`.
    public let text: String

    public init(_ text: String) {
        self.text = text
    }

    public static func < (left: ReportDay, right: ReportDay) -> Bool { left.text < right.text }
}

/// What was granted and taken back of one product on one day, in units.
public struct GrantedUnits: Sendable, Equatable {
    public let productID: String
    public let day: ReportDay
    /// By the day of purchase.
    public let granted: Int64
    /// By the day of the revocation: so Apple reports refunds.
    public let revoked: Int64

    public init(productID: String, day: ReportDay, granted: Int64, revoked: Int64) {
        self.productID = productID
        self.day = day
        self.granted = granted
        self.revoked = revoked
    }

    private static let statement = LedgerSQL.statement(PackageResources.granted_units_sql)
    private static let zoneStatement = LedgerSQL.statement(PackageResources.knows_time_zone_sql)

    /// Whether PostgreSQL knows the time zone by this name. Throws a `PostgresError`.
    public static func isKnown(timeZone: String, in pool: PostgresPool) async throws -> Bool {
        try await pool.run { try $0.execute(zoneStatement, [.text(timeZone)]).bool(0, 0) ?? false }
    }

    /// Of production alone, from the first day to the last, both included. Reads all grants of that time: minutes, for a
    /// large ledger. Throws a `PostgresError`.
    public static func of(
        _ days: ClosedRange<ReportDay>, timeZone: String, bundleID: String?, in pool: PostgresPool
    ) async throws -> [GrantedUnits] {
        try await pool.run { session in
            try session.transaction { session in
                try session.run(script: "SET TRANSACTION READ ONLY; SET LOCAL statement_timeout = '10min'")
                let rows = try session.execute(
                    statement,
                    [.text(days.lowerBound.text), .text(days.upperBound.text), .text(timeZone), .text(bundleID)])
                return (0..<rows.count).compactMap { row in
                    guard let product = rows.text(row, 0), let day = rows.text(row, 1) else { return nil }
                    return GrantedUnits(
                        productID: product, day: ReportDay(day), granted: rows.int8(row, 2) ?? 0,
                        revoked: rows.int8(row, 3) ?? 0)
                }
            }
        }
    }
}
