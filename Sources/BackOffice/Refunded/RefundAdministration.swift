import Ledger
import NamesAndTimes
import Postgres

/// Selects the refunds that an operator means. Nil means any.
public struct RefundFilter: Sendable, Equatable {
    public enum State: String, Sendable, CaseIterable {
        case refunded
        case reversed
    }

    public var bundleID: String?
    public var state: State?
    public var playerID: String?
    public var productID: String?
    /// The earliest time of Apple's notice.
    public var since: Timestamp?

    public init(bundleID: String? = nil, state: State? = nil) {
        self.bundleID = bundleID
        self.state = state
    }

    fileprivate var parameters: [PostgresParameter] {
        [.text(bundleID), .text(state?.rawValue), .text(playerID), .text(productID), .timestamptz(since)]
    }
}

/// Apple's refund or reversal, as an operator sees it.
public struct RefundSummary: Sendable, Equatable {
    public let transactionID: String
    public let originalTransactionID: String
    public let bundleID: String
    public let productID: String
    public let environment: String
    /// The time of Apple's refund. Nil if Apple reversed it.
    public let revokedAt: Timestamp?
    public let reason: String?
    /// The refunded percentage. Nil if Apple did not give one.
    public let percent: Double?
    public let toldAt: Timestamp
    /// The player. Nil if the purchase was never granted.
    public let playerID: String?
    public let quantity: Int?
    public let revokedUnits: Int?
    /// Whether an operator revoked the grant, whatever Apple says.
    public let isRevokedByOperator: Bool
}

/// Counts and lists Apple's refunds for an operator. Every function throws a `PostgresError`.
public struct RefundAdministration: Sendable {
    private static let counting = LedgerSQL.statement(PackageResources.count_refunds_sql)
    private static let listing = LedgerSQL.statement(PackageResources.list_refunds_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Counts the rows that match, up to `limit`.
    public func count(_ filter: RefundFilter, limit: Int) async throws -> Int {
        try await pool.count("count", of: Self.counting, [.int8(Int64(limit))] + filter.parameters)
    }

    /// Returns refunds, Apple's newest notice first.
    /// - Parameter skipping: the newer rows to leave out.
    public func list(_ filter: RefundFilter, limit: Int, skipping: Int = 0) async throws -> [RefundSummary] {
        try await pool.run { session in
            let rows = try session.execute(
                Self.listing, [.int8(Int64(limit)), .int8(Int64(skipping))] + filter.parameters)
            return try rows.named(RefundSummary.Column.self).compactMap(RefundSummary.init)
        }
    }
}

/// The rows of `list_refunds`.
extension RefundSummary: ListedRow {
    package enum Column: String, CaseIterable {
        case transactionID, originalTransactionID, bundleID, productID, environment, revokedAt, reason
        case refundedMilliPercent, notedAt, playerID, quantity, revokedUnits, isRevokedByOperator
    }

    package init?(_ row: PostgresRow<Column>) {
        guard let id = row.text(.transactionID), let told = row.timestamp(.notedAt) else { return nil }
        self.init(
            transactionID: id, originalTransactionID: row.text(.originalTransactionID) ?? id,
            bundleID: row.text(.bundleID) ?? "", productID: row.text(.productID) ?? "",
            environment: row.text(.environment) ?? "", revokedAt: row.timestamp(.revokedAt),
            reason: row.text(.reason),
            percent: row.integer(.refundedMilliPercent).map { (part: Int) in Double(part) / 1000 }, toldAt: told,
            playerID: row.text(.playerID), quantity: row.integer(.quantity), revokedUnits: row.integer(.revokedUnits),
            isRevokedByOperator: row.bool(.isRevokedByOperator) ?? false)
    }
}
