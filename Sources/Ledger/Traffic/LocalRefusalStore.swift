import Postgres

/// Recent rejections that asked nobody, by submission and player, for `inspect` and the console. Every function throws a
/// `PostgresError`.
public struct LocalRefusalStore: Sendable {
    /// Days for which they are kept, besides today.
    static let days: Int32 = 3

    /// One rejection. Text that holds a NUL cannot be stored, and is left out whole.
    public struct Refusal: Sendable, Equatable {
        /// A UUID.
        public let eventID: String
        public let submissionID: String
        public let playerID: String
        public let bundleID: String?
        public let reason: String
        public let detailCode: String
        public let detail: String
        /// RFC 3339.
        public let occurredAt: String

        public init(
            eventID: String, submissionID: String, playerID: String, bundleID: String?, reason: String,
            detailCode: String, detail: String, occurredAt: String
        ) {
            (self.eventID, self.submissionID, self.playerID) = (eventID, submissionID, playerID)
            (self.bundleID, self.reason) = (bundleID, reason)
            (self.detailCode, self.detail, self.occurredAt) = (detailCode, detail, occurredAt)
        }

        fileprivate var isStorable: Bool {
            [submissionID, playerID, bundleID ?? "", detail].allSatisfy { !$0.utf8.contains(0) }
        }
    }

    private static let adding = LedgerSQL.statement(PackageResources.insert_local_refusals_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Each is kept once, however often it is given.
    public func add(_ refusals: [Refusal]) async throws {
        let told = refusals.filter(\.isStorable)
        guard !told.isEmpty else { return }
        let columns: [[String?]] = [
            told.map(\.eventID), told.map(\.submissionID), told.map(\.playerID), told.map(\.bundleID),
            told.map(\.reason), told.map(\.detailCode), told.map(\.detail), told.map(\.occurredAt),
        ]
        _ = try await pool.run { try $0.execute(Self.adding, columns.map { .textArray($0) }).affectedRows }
    }
}
