import Fulfillment
import Ledger
import Postgres

/// Counts, lists, retries and leases parked submissions for an operator. Every function throws a `PostgresError`.
public struct ParkedAdministration: WaitingTable {
    package typealias Reason = ParkingReason
    package typealias Row = ParkedSummary

    /// The result of leasing parked submissions for an operator.
    public struct Leased: Sendable {
        public let submissions: [LeasedSubmission]
        /// The rows whose stored submission cannot be read.
        public let unreadable: [NameBasedUUID]
    }

    package static let listing = LedgerSQL.statement(PackageResources.list_parked_sql)
    package static let counting = LedgerSQL.statement(PackageResources.count_parked_sql)
    private static let retrying = LedgerSQL.statement(PackageResources.retry_parked_sql)
    private static let finding = LedgerSQL.statement(PackageResources.find_parked_sql)
    private static let findingNamed = LedgerSQL.statement(PackageResources.find_parked_by_submission_sql)
    private static let retryingPage = LedgerSQL.statement(PackageResources.retry_parked_page_sql)

    package let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Makes parked submissions due now, except those that a worker has leased. Returns their number. After a failure,
    /// the submissions changed so far stay due, and a second call changes the rest.
    /// - Parameters:
    ///   - limit: the most submissions to change, the oldest first; nil for all.
    ///   - progress: called after each statement with the number changed so far.
    public func retry(
        _ filter: ParkedFilter, limit: Int? = nil, progress: (Int) -> Void = { _ in }
    ) async throws -> Int {
        guard filter.id != nil || limit != nil else {
            return try await ParkedPages.run(Self.retryingPage, filter.ofMany, in: pool, progress: progress)
        }
        var rest = try await ids(filter, limit: limit)[...]
        var due = 0
        while !rest.isEmpty {
            let some = Array(rest.prefix(Int(ParkedPages.size)))
            rest = rest.dropFirst(some.count)
            due += try await pool.run { try $0.execute(Self.retrying, [.uuids(some)]).affectedRows }
            progress(due)
        }
        return due
    }

    /// Returns the ids of rows without a lease, the oldest first.
    private func ids(_ filter: ParkedFilter, limit: Int?) async throws -> [NameBasedUUID] {
        try await pool.run { session in
            let limit = PostgresParameter.int8(limit.map(Int64.init))
            let rows =
                if let submission = filter.id {
                    try session.execute(Self.findingNamed, [.text(submission), .text(filter.playerID), limit])
                } else {
                    try session.execute(Self.finding, filter.ofMany + [limit])
                }
            let id = try rows.column("id")
            return (0..<rows.count).compactMap { rows.uuid($0, id)?.nameBased }
        }
    }

    /// Leases at most `limit` submissions. Until the leases end, no worker takes these submissions.
    public func lease(
        _ filter: ParkedFilter, excluding: [NameBasedUUID] = [], limit: Int
    ) async throws -> Leased {
        try await pool.run { session in
            let taken = try LeaseParked.chosen(
                filter, excluding: excluding, limit: limit, leaseSeconds: PostgresParking.leaseSeconds, in: session)
            return Leased(submissions: taken.leased, unreadable: taken.unreadable)
        }
    }
}
