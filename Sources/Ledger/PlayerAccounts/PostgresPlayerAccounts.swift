import Fulfillment
import NamesAndTimes
import Postgres

/// The players of account tokens, in PostgreSQL.
public struct PostgresPlayerAccounts: PlayerAccounts {
    private static let entering = LedgerSQL.statement(PackageResources.upsert_player_accounts_sql)
    private static let locking = LedgerSQL.statement(PackageResources.lock_announced_of_tokens_sql)
    private static let retrying = LedgerSQL.statement(PackageResources.retry_announced_purchases_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Stores accounts. Throws a `PostgresError`. If PostgreSQL refuses the data of one account, each account gets an
    /// SQL transaction of its own.
    public func apply(_ accounts: [ReceivedAccount]) async throws -> Durable<[EnteredRecord]> {
        try await BatchWriting.run(accounts, refused: .refused) { accounts in
            let history = try await pool.run { try Self.write(accounts, in: $0) }
            return Durable(accounts.map { _ in .entered }, in: history)
        }
    }

    private static func write(_ accounts: [ReceivedAccount], in session: PostgresSession) throws -> DatabaseHistory? {
        // All records with one key come from one partition, in order. So the last record is the newest.
        let newest = Dictionary(accounts.map { ($0.account.token, $0) }) { _, later in later }
            .values.sorted { $0.account.token < $1.account.token }
        return try session.transaction { session in
            let tokens = [
                PostgresParameter.identifiers(newest.lazy.map(\.account.token.bundleID)),
                .byteaArray(newest.map(\.account.token.hash.bytes)),
            ]
            try session.execute(
                entering,
                tokens + [
                    .textArray(newest.map { $0.account.player?.text }), .int4Array(newest.map(\.partition)),
                    .int8Array(newest.map(\.offset)), .timestamps(newest.map(\.timestamp)),
                ])
            // Purchases of deleted tokens are locked too, because the catalog may name another player for such a token.
            let told = try session.execute(locking, tokens)
            let transaction = try told.column("transaction_id")
            if told.count > 0 {
                try session.execute(retrying, [.textArray((0..<told.count).map { told.text($0, transaction) })])
            }
            return try DatabaseHistory.read(in: session)
        }
    }
}
