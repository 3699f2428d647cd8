import Fulfillment
import NamesAndTimes
import Postgres

/// The rows that say up to which time receiptd has read Apple's notification histories. All replicas share these rows.
public struct PostgresHistoryPlaces: HistoryPlaces {
    private static let leasing = LedgerSQL.statement(PackageResources.lease_notification_history_sql)
    private static let moving = LedgerSQL.statement(PackageResources.update_notification_history_sql)
    private static let releasing = LedgerSQL.statement(PackageResources.release_notification_history_sql)
    private static let suspecting = LedgerSQL.statement(PackageResources.suspect_notification_sql)
    private static let settingAside = LedgerSQL.statement(PackageResources.set_aside_notification_sql)

    private let pool: PostgresPool

    public init(pool: PostgresPool) {
        self.pool = pool
    }

    public func lease(
        _ scope: HistoryScope, survived: Digest256?, seconds: Double
    ) async throws -> HistoryPlace? {
        try await pool.run { session in
            let rows = try session.execute(
                Self.leasing,
                [
                    .text(scope.bundleID.text), .text(scope.environment.rawValue), .float8(seconds),
                    .float8(DueTimes.farthestSeconds), .bytea(survived?.bytes),
                ])
            let (taken, lease) = (try rows.column("taken_until"), try rows.column("leased_until"))
            let (readAt, starts) = (try rows.column("read_at"), try rows.column("starts"))
            let setAside = try rows.column("set_aside")
            let (culprit, deaths) = (try rows.column("culprit"), try rows.column("culprit_deaths"))
            guard rows.count == 1, let until = rows.timestampMicroseconds(0, lease), let now = rows.timestamp(0, readAt)
            else { return nil }
            var place = HistoryPlace(scope: scope, takenUntil: rows.timestamp(0, taken), now: now, lease: until)
            place.starts = rows.int4(0, starts).map { Int($0) } ?? 1
            place.culprit = rows.bytes(0, culprit).map {
                HistoryPlace.Culprit(name: Digest256(bytes: $0), deaths: Int(rows.int4(0, deaths) ?? 0))
            }
            place.page = try rows.historyPage(0)
            place.setAside = Set(
                (rows.byteaArray(0, setAside) ?? []).compactMap { $0.map { Digest256(bytes: $0) } })
            return place
        }
    }

    public func advance(
        _ place: HistoryPlace, to step: HistoryStep, behind effects: Set<DatabaseHistory>, seconds: Double
    ) async throws -> HistoryMove {
        try await pool.run { session in
            try session.transaction { session in
                let history = try DatabaseHistory.read(in: session)
                guard effects.isSubset(of: [history]) else { return .otherDatabase }
                let (end, page) =
                    switch step {
                    case .page(let page): (nil as Timestamp?, page as HistoryPage?)
                    case .windowEnd(let time): (time, nil)
                    }
                let rows = try session.execute(
                    Self.moving,
                    Self.leased(place) + [
                        .timestamptz(unixMicroseconds: end?.microseconds), .float8(seconds),
                        .timestamptz(unixMicroseconds: page?.window.from.microseconds),
                        .timestamptz(unixMicroseconds: page?.window.to.microseconds), .text(page?.token),
                    ])
                let (taken, lease) = (try rows.column("taken_until"), try rows.column("leased_until"))
                guard rows.count == 1, let until = rows.timestampMicroseconds(0, lease) else { return .lost }
                var moved = place
                moved.lease = until
                moved.takenUntil = rows.timestamp(0, taken)
                moved.page = page
                return .moved(moved)
            }
        }
    }

    public func suspect(_ name: Digest256?, _ place: HistoryPlace, seconds: Double) async throws -> HistoryPlace? {
        try await pool.run { session in
            let rows = try session.execute(
                Self.suspecting, Self.leased(place) + [.bytea(name?.bytes), .float8(seconds)])
            let lease = try rows.column("leased_until")
            guard rows.count == 1, let until = rows.timestampMicroseconds(0, lease) else { return nil }
            var moved = place
            moved.lease = until
            return moved
        }
    }

    public func setAside(_ name: Digest256, _ place: HistoryPlace) async throws {
        try await pool.run { _ = try $0.execute(Self.settingAside, Self.leased(place) + [.bytea(name.bytes)]) }
    }

    public func release(_ place: HistoryPlace, dueAfterSeconds seconds: Double) async throws {
        try await pool.run { _ = try $0.execute(Self.releasing, Self.leased(place) + [.float8(seconds)]) }
    }

    /// Returns the parameters $1 to $3, which identify a place and its lease.
    private static func leased(_ place: HistoryPlace) -> [PostgresParameter] {
        [
            .text(place.scope.bundleID.text), .text(place.scope.environment.rawValue),
            .timestamptz(unixMicroseconds: place.lease),
        ]
    }
}

extension PostgresRows {
    /// Returns the next page of a partly read window; nil if no window is partly read.
    fileprivate func historyPage(_ row: Int) throws -> HistoryPage? {
        let (from, to) = (try column("page_from"), try column("page_to"))
        guard let from = timestamp(row, from), let to = timestamp(row, to),
            let token = text(row, try column("page_token"))
        else { return nil }
        return HistoryPage(window: NotificationHistoryWindow(from: from, to: to), token: token)
    }
}
