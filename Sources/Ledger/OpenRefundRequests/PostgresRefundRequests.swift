import Fulfillment
import NamesAndTimes
import Postgres

/// Refund requests in PostgreSQL, for workers. Every function throws a `PostgresError`.
public struct PostgresRefundRequests: OpenRefundRequests {
    /// The shortest lease in seconds. Each lease of a row is twice as long as the one before, so that a row that kills
    /// its worker comes back later each time.
    public static let shortestLeaseSeconds = 60.0
    static let longestLeaseSeconds = 1800.0

    private static let leasing = LedgerSQL.statement(PackageResources.lease_due_refund_requests_sql)
    private static let resetting = LedgerSQL.statement(PackageResources.reset_future_refund_requests_sql)
    private static let findingOwed = LedgerSQL.statement(PackageResources.find_owed_events_sql)
    private static let ending = LedgerSQL.statement(PackageResources.end_refund_request_sql)
    private static let puttingOff = LedgerSQL.statement(PackageResources.put_off_refund_request_sql)
    private static let reporting = LedgerSQL.statement(PackageResources.upsert_consumption_reports_sql)

    private let pool: PostgresPool
    private let shortestLeaseSeconds: Double
    private let floor = PollFloor(.refundRequests)
    private let mending = DueTimes.Mending(Self.resetting)

    public init(
        pool: PostgresPool, shortestLeaseSeconds: Double = PostgresRefundRequests.shortestLeaseSeconds
    ) {
        self.pool = pool
        self.shortestLeaseSeconds = shortestLeaseSeconds
    }

    public func leaseDueRequests(
        limit: Int, waitSeconds: Double, at now: Timestamp
    ) async throws -> [LeasedRefundRequest] {
        try await pool.run { [shortestLeaseSeconds, floor, mending] session in
            try mending.mendNowAndThen(in: session)
            guard try floor.mayBeDue(in: session) else { return [] }
            try UnownedRefundRequests.look(at: now, waitSeconds: waitSeconds, in: session)
            return try session.transaction { session in
                let rows = try session.execute(
                    Self.leasing,
                    [
                        .int8(Int64(limit)), .float8(waitSeconds), .float8(LeasedRefundRequest.reservedSeconds),
                        .float8(shortestLeaseSeconds), .float8(Self.longestLeaseSeconds),
                    ])
                let (requested, known) = (try rows.named(RequestedColumn.self), try rows.named(KnownColumn.self))
                let owed = try owed(known, in: session)
                return zip(requested, known).compactMap { LeasedRefundRequest($0, $1, owed: owed) }
            }
        }
    }

    /// Returns these rows' granted events that the broker has not acknowledged.
    private func owed(
        _ rows: [PostgresRow<KnownColumn>], in session: PostgresSession
    ) throws -> Set<NameBasedUUID> {
        let events = rows.compactMap { row in
            row.text(.grantedTransactionID).map {
                OutcomeEvent.eventID(.granted, transaction: Identifier($0), revision: 1)
            }
        }
        guard !events.isEmpty else { return [] }
        let found = try session.execute(Self.findingOwed, [.uuids(events)])
        let event = try found.column("event_id")
        return Set((0..<found.count).compactMap { found.uuid($0, event)?.nameBased })
    }

    public func end(
        _ request: LeasedRefundRequest, as result: ConsumptionResult, answer: ConsumptionAnswer?
    ) async throws {
        try await pool.change(
            .text(request.request.id.text), leasedAs: request.lease, by: Self.ending,
            [
                .text(result.rawValue), .text(answer?.delivery.rawValue), .int4(answer?.consumedMilliPercent),
                .text(answer?.refundPreference?.rawValue),
            ])
    }

    public func putOff(_ request: LeasedRefundRequest, seconds: Double, countsAsTry: Bool) async throws {
        try await pool.change(
            .text(request.request.id.text), leasedAs: request.lease, by: Self.puttingOff,
            [.float8(seconds), .int4(countsAsTry ? 0 : 1)])
    }

    public func release(_ request: LeasedRefundRequest) async throws {
        try await putOff(request, seconds: 0, countsAsTry: false)
    }

    /// Stores reports. If PostgreSQL refuses the data of one report, each report gets an SQL transaction of its own.
    public func enter(_ reports: [ConsumptionReport]) async throws -> Durable<[EnteredRecord]> {
        try await BatchWriting.run(reports, refused: .refused) { reports in
            let history = try await pool.run { try Self.write(reports, in: $0) }
            return Durable(reports.map { _ in .entered }, in: history)
        }
    }

    private static func write(
        _ reports: [ConsumptionReport], in session: PostgresSession
    ) throws -> DatabaseHistory? {
        struct Key: Hashable {
            let bundle: BundleID
            let transaction: StoreTransactionID
        }
        var latest: [Key: ConsumptionReport] = [:]
        for report in reports { latest[Key(bundle: report.bundleID, transaction: report.transactionID)] = report }
        let sorted = latest.values.sorted { ($0.bundleID, $0.transactionID) < ($1.bundleID, $1.transactionID) }
        let rows = try session.execute(
            reporting,
            [
                .identifiers(sorted.lazy.map(\.bundleID)), .identifiers(sorted.lazy.map(\.transactionID)),
                .int4Array(sorted.map(\.content.consumedMilliPercent)),
                .textArray(sorted.map { $0.content.refundPreference?.rawValue }),
                .boolArray(sorted.map(\.content.isConsented)),
            ])
        return rows.history(0, try rows.column("history"))
    }
}
