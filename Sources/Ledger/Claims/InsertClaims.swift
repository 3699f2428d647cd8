import Fulfillment
import NamesAndTimes
import Postgres

struct ClaimRow: Sendable, Equatable {
    let original: StoreTransactionID
    var player: PlayerID?
    let bundleID: BundleID
    var grantedTransaction: StoreTransactionID?
}

enum InsertClaims {
    private static let statement = LedgerSQL.statement(PackageResources.insert_claims_sql)

    /// Inserts the claims that do not exist, and returns their ids. `claims` must be sorted by original transaction.
    static func run(_ claims: [ClaimRow], in session: PostgresSession) throws -> Set<StoreTransactionID> {
        guard let call = call(claims) else { return [] }
        return try fresh(session.execute(call.statement, call.parameters), of: claims)
    }

    /// Inserts claims and reads the facts of risk, in one round trip at the start of an SQL transaction.
    static func run(
        _ claims: [ClaimRow], with risk: FindRisk, in session: PostgresSession
    ) throws -> (fresh: Set<StoreTransactionID>, risk: RiskFacts) {
        guard let first = call(claims), let second = risk.call else {
            let fresh = try run(claims, in: session)
            guard let call = risk.call else { return (fresh, RiskFacts()) }
            return (fresh, try risk.facts(session.execute(call.statement, call.parameters)))
        }
        let rows = try session.execute([first, second])
        return (try fresh(rows[0], of: claims), try risk.facts(rows[1]))
    }

    private static func call(_ claims: [ClaimRow]) -> PostgresCall? {
        guard !claims.isEmpty else { return nil }
        return PostgresCall(
            statement,
            [
                .identifiers(claims.lazy.map(\.original)), .textArray(claims.map { $0.player?.text }),
                .identifiers(claims.lazy.map(\.bundleID)), .textArray(claims.map { $0.grantedTransaction?.text }),
            ])
    }

    private static func fresh(_ rows: PostgresRows, of claims: [ClaimRow]) throws -> Set<StoreTransactionID> {
        let original = try rows.column("original_transaction_id")
        if rows.count == claims.count { return Set(claims.lazy.map(\.original)) }
        return Set((0..<rows.count).compactMap { rows.text($0, original).map { Identifier($0) } })
    }
}
