import Fulfillment
import NamesAndTimes
import Postgres

/// The counts behind daily limits. Each is locked first, until COMMIT: whoever grants under it next sees this
/// transaction's grants. No counter is kept that could part from the grants; what was granted before a product had a
/// limit counts, and what was revoked since does not, where nothing of it is left.
enum CountDays {
    private static let locking = LedgerSQL.statement(PackageResources.lock_daily_counts_sql)
    private static let counting = LedgerSQL.statement(PackageResources.count_daily_grants_sql)

    /// Counts behind the claims' locks and before any other.
    static func run(_ counts: Set<DailyCount>, in session: PostgresSession) throws -> [DailyCount: Int] {
        guard !counts.isEmpty else { return [:] }
        let given = Array(counts)
        // The locks are taken in one order by everybody: their own, and not that of the locked days.
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
    /// Two that share a number only wait for one another.
    fileprivate var lock: Int64 {
        Int64(bitPattern: NameBasedUUID("daily limit", bundleID.text, player.text, product.text, String(day)).high)
    }
}
