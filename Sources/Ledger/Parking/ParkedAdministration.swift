import Fulfillment
import Postgres

/// Which parked submissions an operator means. Nil means any.
public struct ParkedFilter: Sendable, Equatable {
    /// As it is shown and stored: several players may have chosen the same.
    public var submissionID: String?
    public var bundleID: String?
    public var reason: ParkingReason?

    public init(submissionID: String? = nil, bundleID: String? = nil, reason: ParkingReason? = nil) {
        self.submissionID = submissionID
        self.bundleID = bundleID
        self.reason = reason
    }

    var parameters: [PostgresParameter] {
        [.text(submissionID), .text(bundleID), .text(reason?.rawValue)]
    }
}

/// A parked submission as an operator sees it.
public struct ParkedSummary: Sendable, Equatable {
    public let id: NameBasedUUID
    public let submissionID: String
    public let playerID: String
    public let bundleID: String
    public let reason: String
    public let detail: String?
    public let sqlState: String?
    /// Tries that ended in trouble or at a blockage.
    public let failures: Int
    public let parkings: Int
    public let parkedAt: Timestamp
    /// Nil where only an operator ends the wait.
    public let dueAt: Timestamp?
    /// Someone works on it now.
    public let isLeased: Bool
    public let topic: String
    public let partition: Int32
    public let offset: Int64
}

/// The parked submissions, for an operator. Every function throws a `PostgresError`.
public struct ParkedAdministration: Sendable {
    public struct Count: Sendable, Equatable {
        public let all: Int
        /// Someone works on them now.
        public let leased: Int
    }

    /// What a lease for an operator found.
    public struct Leased: Sendable {
        public let submissions: [LeasedSubmission]
        /// The database refused their data, and so it would their answer.
        public let unreadable: [NameBasedUUID]
    }

    private static let listing = LedgerSQL.statement(PackageResources.list_parked_sql)
    private static let counting = LedgerSQL.statement(PackageResources.count_parked_sql)
    private static let retrying = LedgerSQL.statement(PackageResources.retry_parked_sql)
    private static let finding = LedgerSQL.statement(PackageResources.find_parked_sql)
    private static let findingNamed = LedgerSQL.statement(PackageResources.find_parked_named_sql)
    private static let retryingPage = LedgerSQL.statement(PackageResources.retry_parked_page_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    /// Oldest first. The filter's `submissionID` is not looked at.
    public func list(_ filter: ParkedFilter, limit: Int) async throws -> [ParkedSummary] {
        try await pool.run { session in
            let rows = try session.execute(
                Self.listing, [.int8(Int64(limit)), .text(filter.bundleID), .text(filter.reason?.rawValue)])
            return (0..<rows.count).compactMap { ParkedSummary(rows, $0) }
        }
    }

    public func count(_ filter: ParkedFilter) async throws -> Count {
        try await pool.run { session in
            let rows = try session.execute(Self.counting, filter.parameters)
            return Count(all: Int(rows.int8(0, 0) ?? 0), leased: Int(rows.int8(0, 1) ?? 0))
        }
    }

    /// Makes them due, but for those that someone works on. Returns how many. Where it fails on the way, those before stay
    /// due, and the same again does the rest.
    /// - Parameters:
    ///   - limit: of how many, the oldest first; nil: of all.
    ///   - progress: told now and then how many are due so far.
    public func retry(
        _ filter: ParkedFilter, limit: Int? = nil, progress: (Int) -> Void = { _ in }
    ) async throws -> Int {
        guard filter.submissionID != nil || limit != nil else {
            return try await ParkedPages.run(
                Self.retryingPage, [.text(filter.bundleID), .text(filter.reason?.rawValue)], in: pool,
                progress: progress)
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

    /// Those that nobody works on, oldest first.
    private func ids(_ filter: ParkedFilter, limit: Int?) async throws -> [NameBasedUUID] {
        try await pool.run { session in
            let limit = PostgresParameter.int8(limit.map(Int64.init))
            let rows =
                if let submission = filter.submissionID {
                    try session.execute(Self.findingNamed, [.text(submission), limit])
                } else {
                    try session.execute(
                        Self.finding, [.text(filter.bundleID), .text(filter.reason?.rawValue), limit])
                }
            return (0..<rows.count).compactMap { rows.uuid($0, 0)?.nameBased }
        }
    }

    /// Takes up to `limit` away from the workers, for as long as a lease lasts.
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

extension ParkedSummary {
    fileprivate init?(_ rows: PostgresRows, _ row: Int) {
        guard let id = rows.uuid(row, 0), let submission = rows.text(row, 1), let player = rows.text(row, 2),
            let bundle = rows.text(row, 3), let reason = rows.text(row, 4), let parkedAt = rows.timestamp(row, 9)
        else { return nil }
        self.init(
            id: id.nameBased, submissionID: submission, playerID: player, bundleID: bundle, reason: reason,
            detail: rows.text(row, 5), sqlState: rows.text(row, 6), failures: Int(rows.int4(row, 7) ?? 0),
            parkings: Int(rows.int4(row, 8) ?? 0), parkedAt: parkedAt, dueAt: rows.timestamp(row, 10),
            isLeased: rows.bool(row, 11) ?? false, topic: rows.text(row, 12) ?? "",
            partition: Int32(truncatingIfNeeded: rows.int4(row, 13) ?? 0), offset: rows.int8(row, 14) ?? 0)
    }
}
