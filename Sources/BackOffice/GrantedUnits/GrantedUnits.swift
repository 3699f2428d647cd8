import Fulfillment
import Ledger
import Postgres

/// A calendar day in the form of Apple's reports.
public struct ReportDay: Sendable, Hashable, Comparable {
    /// The day as `2026-11-21`.
    public let text: String

    public init(_ text: String) {
        self.text = text
    }

    public static func < (left: ReportDay, right: ReportDay) -> Bool { left.text < right.text }
}

/// The granted and revoked units of one product on one day and in one currency.
public struct GrantedUnits: Sendable, Equatable {
    public let productID: String
    public let day: ReportDay
    /// The number of granted units. They count on the day of purchase.
    public let granted: Int64
    /// The number of revoked units. They count on the day of the revocation, as in Apple's reports.
    public let revoked: Int64
    /// The currency's ISO 4217 code; nil for units whose price Apple did not give.
    public let currency: String?
    /// The price of the granted minus the revoked units, in thousandths of the currency's main unit. It is only an
    /// indication.
    public let milliunits: Int64

    public init(
        productID: String, day: ReportDay, granted: Int64, revoked: Int64, currency: String? = nil,
        milliunits: Int64 = 0
    ) {
        self.productID = productID
        self.day = day
        self.granted = granted
        self.revoked = revoked
        self.currency = currency
        self.milliunits = milliunits
    }

    private static let statement = LedgerSQL.statement(PackageResources.count_granted_units_sql)
    private static let zoneStatement = PostgresStatement(
        "SELECT EXISTS (SELECT FROM pg_timezone_names WHERE name = $1) AS is_known")

    /// Returns true if PostgreSQL knows a time zone with this name. Throws a `PostgresError`.
    public static func isKnown(timeZone: String, in pool: PostgresPool) async throws -> Bool {
        try await pool.run { session in
            let rows = try session.execute(zoneStatement, [.text(timeZone)])
            return rows.bool(0, try rows.column("is_known")) ?? false
        }
    }

    /// Returns the units of Production from the first to the last day, both included. It reads all grants of these
    /// days, which takes minutes in a large ledger. Throws a `PostgresError`.
    public static func of(
        _ days: ClosedRange<ReportDay>, timeZone: String, bundleID: String?, in pool: PostgresPool
    ) async throws -> [GrantedUnits] {
        try await pool.run { session in
            try session.transaction { session in
                try session.run(script: "SET TRANSACTION READ ONLY; SET LOCAL statement_timeout = '10min'")
                let rows = try session.execute(
                    statement,
                    [.text(days.lowerBound.text), .text(days.upperBound.text), .text(timeZone), .text(bundleID)])
                let (products, day) = (try rows.column("product_id"), try rows.column("day"))
                let (granted, revoked) = (try rows.column("granted"), try rows.column("revoked"))
                let (currency, price) = (try rows.column("currency"), try rows.column("milliunits"))
                return (0..<rows.count).compactMap { row in
                    guard let product = rows.text(row, products), let text = rows.text(row, day) else { return nil }
                    return GrantedUnits(
                        productID: product, day: ReportDay(text), granted: rows.int8(row, granted) ?? 0,
                        revoked: rows.int8(row, revoked) ?? 0, currency: rows.text(row, currency),
                        milliunits: rows.int8(row, price) ?? 0)
                }
            }
        }
    }
}
