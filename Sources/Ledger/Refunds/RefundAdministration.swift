import NamesAndTimes
import Postgres

/// Which refunds an operator means. Nil means any.
public struct RefundFilter: Sendable, Equatable {
    public enum State: String, Sendable, CaseIterable {
        case refunded
        case reversed
    }

    public var bundleID: String?
    public var state: State?

    public init(bundleID: String? = nil, state: State? = nil) {
        self.bundleID = bundleID
        self.state = state
    }

    fileprivate var parameters: [PostgresParameter] { [.text(bundleID), .text(state?.rawValue)] }
}

/// What Apple took back, or gave again, as an operator sees it.
public struct RefundSummary: Sendable, Equatable {
    public let transactionID: String
    public let originalTransactionID: String
    public let bundleID: String
    public let productID: String
    public let environment: String
    /// Nil: it was reversed.
    public let revokedAt: Timestamp?
    public let reason: String?
    /// Nil where Apple did not tell.
    public let percent: Double?
    public let toldAt: Timestamp
    /// Nil where it was never granted.
    public let playerID: String?
    public let quantity: Int?
    public let revokedUnits: Int?
    /// Whatever Apple says.
    public let isRevokedByOperator: Bool
}

/// Apple's refunds, for an operator. Every function throws a `PostgresError`.
public struct RefundAdministration: Sendable {
    private static let counting = LedgerSQL.statement(PackageResources.count_refunds_sql)
    private static let listing = LedgerSQL.statement(PackageResources.list_refunds_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Up to `limit`.
    public func count(_ filter: RefundFilter, limit: Int) async throws -> Int {
        try await pool.count("count", of: Self.counting, [.int8(Int64(limit))] + filter.parameters)
    }

    /// The newest notice first.
    public func list(_ filter: RefundFilter, limit: Int) async throws -> [RefundSummary] {
        try await pool.run { session in
            let rows = try session.execute(Self.listing, [.int8(Int64(limit))] + filter.parameters)
            let (transaction, original) = (
                try rows.column("transaction_id"), try rows.column("original_transaction_id")
            )
            let (bundle, product) = (try rows.column("bundle_id"), try rows.column("product_id"))
            let (environment, revokedAt) = (try rows.column("environment"), try rows.column("revoked_at"))
            let (reason, percent) = (try rows.column("reason"), try rows.column("refunded_milli_percent"))
            let (toldAt, player) = (try rows.column("noted_at"), try rows.column("player_id"))
            let (quantity, units) = (try rows.column("quantity"), try rows.column("revoked_units"))
            let byOperator = try rows.column("is_revoked_by_operator")
            return (0..<rows.count).compactMap { row in
                guard let id = rows.text(row, transaction), let told = rows.timestamp(row, toldAt) else { return nil }
                return RefundSummary(
                    transactionID: id, originalTransactionID: rows.text(row, original) ?? id,
                    bundleID: rows.text(row, bundle) ?? "", productID: rows.text(row, product) ?? "",
                    environment: rows.text(row, environment) ?? "", revokedAt: rows.timestamp(row, revokedAt),
                    reason: rows.text(row, reason), percent: rows.int4(row, percent).map { Double($0) / 1000 },
                    toldAt: told, playerID: rows.text(row, player), quantity: rows.int4(row, quantity).map(Int.init),
                    revokedUnits: rows.int4(row, units).map(Int.init),
                    isRevokedByOperator: rows.bool(row, byOperator) ?? false)
            }
        }
    }
}
