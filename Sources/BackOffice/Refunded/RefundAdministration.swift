import Ledger
import NamesAndTimes
import Postgres

/// Selects refunds by an operator's options. A member that is nil excludes no refund.
public struct RefundFilter: Sendable, Equatable {
    public enum State: String, Sendable, CaseIterable {
        case refunded
        case reversed
    }

    public var bundleID: String?
    public var state: State?
    public var playerID: String?
    public var productID: String?
    /// The earliest time at which Apple reported the refund.
    public var since: Timestamp?

    public init(bundleID: String? = nil, state: State? = nil) {
        self.bundleID = bundleID
        self.state = state
    }

    fileprivate var parameters: [PostgresParameter] {
        [.text(bundleID), .text(state?.rawValue), .text(playerID), .text(productID), .timestamptz(since)]
    }
}

/// The data of Apple's refund or its reversal, for an operator.
public struct RefundSummary: Sendable, Equatable {
    public let transactionID: String
    public let originalTransactionID: String
    public let bundleID: String
    public let productID: String
    public let environment: String
    /// The time of Apple's refund; nil if Apple reversed it.
    public let revokedAt: Timestamp?
    public let reason: String?
    /// The refunded percentage; nil if Apple did not give it.
    public let percent: Double?
    public let toldAt: Timestamp
    /// The player; nil if the purchase was never granted.
    public let playerID: String?
    public let quantity: Int?
    public let revokedUnits: Int?
    /// True if an operator revoked the grant, even if Apple reversed its refund.
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

    /// Returns the number of matching rows, at most `limit`.
    public func count(_ filter: RefundFilter, limit: Int) async throws -> Int {
        try await pool.count("count", of: Self.counting, [.int8(Int64(limit))] + filter.parameters)
    }

    /// Returns refunds. The refund that Apple reported last comes first.
    /// - Parameter skipping: the number of newer rows to leave out.
    public func list(_ filter: RefundFilter, limit: Int, skipping: Int = 0) async throws -> [RefundSummary] {
        try await pool.run { session in
            let rows = try session.execute(
                Self.listing, [.int8(Int64(limit)), .int8(Int64(skipping))] + filter.parameters)
            return try rows.named(RefundSummary.Column.self).compactMap(RefundSummary.init)
        }
    }
}

/// Reads the rows of `list_refunds`.
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
