import Fulfillment
import NamesAndTimes
import Postgres

/// Counts grants for daily limits. Each count is locked until COMMIT, so that the next writer under the limit sees this
/// SQL transaction's grants. The ledger counts the grants themselves, because a separate counter could differ from
/// them. The counts include grants from before the catalog had the limit. Wholly revoked grants do not count.
enum CountDays {
    private static let locking = LedgerSQL.statement(PackageResources.lock_daily_counts_sql)
    private static let counting = LedgerSQL.statement(PackageResources.count_daily_grants_sql)

    /// Locks the counts and reads them. Claims must be locked before, and tokens after.
    static func run(_ counts: Set<DailyCount>, in session: PostgresSession) throws -> [DailyCount: Int] {
        guard !counts.isEmpty else { return [:] }
        let given = Array(counts)
        // Every writer takes these locks in the order of their numbers, so that two writers never wait for each other.
        try session.execute(locking, [.int8Array(Set(given.map(\.lock)).sorted())])
        let rows = try session.execute(
            counting,
            [
                .identifiers(given.lazy.map(\.bundleID)), .identifiers(given.lazy.map(\.player)),
                .identifiers(given.lazy.map(\.product)),
                .timestamps(given.map { Timestamp(milliseconds: Int64($0.day) * 86_400_000) }),
            ])
        let (numbers, granted) = (try rows.column("number"), try rows.column("granted"))
        var known: [DailyCount: Int] = [:]
        for row in 0..<rows.count {
            guard let number = rows.int8(row, numbers), let count = rows.int8(row, granted) else { continue }
            known[given[Int(number) - 1]] = Int(count)
        }
        return known
    }
}

extension DailyCount {
    /// The number of an advisory lock. If two counts share a number, they only wait for each other.
    fileprivate var lock: Int64 {
        Int64(bitPattern: NameBasedUUID("daily limit", bundleID.text, player.text, product.text, String(day)).high)
    }
}
