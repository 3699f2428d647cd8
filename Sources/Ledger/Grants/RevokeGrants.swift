import Fulfillment
import Postgres

package enum RevokeGrants {
    private static let statement = LedgerSQL.statement(PackageResources.revoke_grants_sql)

    /// - Parameter grants: sorted, and locked.
    package static func run(_ grants: [GrantedPurchase], in session: PostgresSession) throws {
        guard !grants.isEmpty else { return }
        let standings = grants.map(\.revocations)
        try session.execute(
            statement,
            [
                .identifiers(grants.lazy.map(\.transactionID)), .timestamps(standings.map(\.revokedAt)),
                .int4Array(grants.map(\.revision)),
                .int4Array(grants.map { $0.revocations.revocation?.units(of: $0.quantity) }),
                .timestamps(standings.map { $0.apple?.at }), .textArray(standings.map { $0.apple?.reason.rawValue }),
                .int4Array(standings.map { $0.apple?.milliPercent }),
                .timestamps(standings.map(\.operatorRevokedAt)),
            ])
    }
}
