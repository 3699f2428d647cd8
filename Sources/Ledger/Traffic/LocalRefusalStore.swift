import Fulfillment
import Postgres

/// Recent rejections that receiptd decided without a request to Apple and without the ledger, for `inspect` and the
/// console. Every function throws a `PostgresError`.
public struct LocalRefusalStore: Sendable {
    /// The days before today for which rejections are kept.
    static let days: Int32 = 3

    private static let adding = LedgerSQL.statement(PackageResources.insert_local_refusals_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Stores each rejection once, even if a caller passes it more than once. Leaves out a rejection whose text
    /// contains a NUL, because PostgreSQL cannot store it.
    public func add(_ refusals: [LocalRefusal]) async throws {
        let told = refusals.filter(\.isStorable)
        guard !told.isEmpty else { return }
        let columns: [[String?]] = [
            told.map(\.eventID), told.map(\.submissionID), told.map(\.playerID), told.map(\.bundleID),
            told.map(\.reason), told.map(\.detailCode), told.map(\.detail), told.map(\.occurredAt),
        ]
        _ = try await pool.run { try $0.execute(Self.adding, columns.map { .textArray($0) }).affectedRows }
    }
}

extension LocalRefusal {
    fileprivate var isStorable: Bool {
        [submissionID, playerID, bundleID ?? "", detail].allSatisfy { !$0.utf8.contains(0) }
    }
}
