import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// Finds, revokes and reinstates grants for an operator. Every function throws a `PostgresError`.
public struct GrantAdministration: Sendable {
    /// The data of a grant that an operator sees before a decision.
    public struct Summary: Sendable, Equatable {
        public let playerID: String
        public let bundleID: String
        public let productID: String
        public let quantity: Int
        /// The time at which Apple or an operator revoked all or a part of the grant; nil while nothing is revoked.
        public let revokedAt: Timestamp?
        public let operatorRevokedAt: Timestamp?
    }

    private static let finding = LedgerSQL.statement(PackageResources.find_grant_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Returns the grant of a transaction; nil if the transaction was never granted.
    public func find(_ transaction: StoreTransactionID) async throws -> Summary? {
        try await pool.run { session in
            let rows = try session.execute(Self.finding, [.text(transaction.text)])
            guard rows.count == 1 else { return nil }
            return Summary(
                playerID: rows.text(0, try rows.column("player_id")) ?? "",
                bundleID: rows.text(0, try rows.column("bundle_id")) ?? "",
                productID: rows.text(0, try rows.column("product_id")) ?? "",
                quantity: Int(rows.int4(0, try rows.column("quantity")) ?? 0),
                revokedAt: rows.timestamp(0, try rows.column("revoked_at")),
                operatorRevokedAt: rows.timestamp(0, try rows.column("operator_revoked_at")))
        }
    }

    /// Stores the decision and its event, which a worker publishes from the outbox. A repeated call changes nothing.
    /// - Parameter catalog: the catalog with the product's payload. The event of a reinstated grant contains this
    ///   payload.
    public func apply(_ decision: GrantDecision, catalog: Catalog) async throws -> GrantDecision.Ending {
        let write = GrantDecisionWrite(decision: decision, catalog: catalog)
        return try await pool.run { try write.run(in: $0) }
    }
}
