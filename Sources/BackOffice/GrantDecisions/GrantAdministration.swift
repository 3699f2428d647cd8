import Fulfillment
import Ledger
import NamesAndTimes
import Postgres

/// The grants, for an operator. Every function throws a `PostgresError`.
public struct GrantAdministration: Sendable {
    /// A grant as an operator sees it before a word about it.
    public struct Summary: Sendable, Equatable {
        public let playerID: String
        public let bundleID: String
        public let productID: String
        public let quantity: Int
        /// The time since which anything of it is revoked, by whomever.
        public let revokedAt: Timestamp?
        public let operatorRevokedAt: Timestamp?
    }

    private static let finding = LedgerSQL.statement(PackageResources.find_grant_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Nil where it was never granted.
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

    /// Makes it durable with its event, which a worker publishes from the outbox. It can be called again.
    /// - Parameter catalog: has the payload of what is reinstated.
    public func apply(_ decision: GrantDecision, catalog: Catalog) async throws -> GrantDecision.Ending {
        let write = GrantDecisionWrite(decision: decision, catalog: catalog)
        return try await pool.run { try write.run(in: $0) }
    }
}
