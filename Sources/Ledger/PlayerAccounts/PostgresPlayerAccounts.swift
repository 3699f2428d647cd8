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

    /// Stores accounts, and makes the unclaimed purchases of their tokens due. Throws a `PostgresError`. If PostgreSQL
    /// refuses the data of one account, each account gets SQL transactions of its own.
    public func apply(_ accounts: [ReceivedAccount]) async throws -> Durable<[EnteredRecord]> {
        try await BatchWriting.run(accounts, refused: .refused) { accounts in
            // All records with one key come from one partition, in order. So the last record is the newest.
            let newest = Dictionary(accounts.map { ($0.account.token, $0) }) { _, later in later }
                .values.sorted { $0.account.token < $1.account.token }
            let tokens = [
                PostgresParameter.identifiers(newest.lazy.map(\.account.token.bundleID)),
                .byteaArray(newest.map(\.account.token.hash.bytes)),
            ]
            let history = try await pool.run { session in
                let history = try Self.write(newest, tokens, in: session)
                try Self.retry(tokens, in: session)
                return history
            }
            return Durable(accounts.map { _ in .entered }, in: history)
        }
    }

    private static func write(
        _ newest: [ReceivedAccount], _ tokens: [PostgresParameter], in session: PostgresSession
    ) throws -> DatabaseHistory? {
        try session.transaction { session in
            try session.execute(
                entering,
                tokens + [
                    .textArray(newest.map { $0.account.player?.text }), .int4Array(newest.map(\.partition)),
                    .int8Array(newest.map(\.offset)), .timestamps(newest.map(\.timestamp)),
                ])
            return try DatabaseHistory.read(in: session)
        }
    }

    /// Makes the tokens' unclaimed purchases due. Call it after the COMMIT of the accounts. Before that COMMIT, a
    /// worker that judges a purchase does not see the account, and marks the purchase as unclaimed. The SQL transaction
    /// of the accounts could miss this mark. If the process dies before this function ends, another worker reads the
    /// records again.
    private static func retry(_ tokens: [PostgresParameter], in session: PostgresSession) throws {
        try session.transaction { session in
            // Purchases of deleted tokens are locked too, because the catalog may name another player for such a token.
            let told = try session.execute(locking, tokens)
            let transaction = try told.column("transaction_id")
            guard told.count > 0 else { return }
            try session.execute(retrying, [.textArray((0..<told.count).map { told.text($0, transaction) })])
        }
    }
}
