import Fulfillment
import NamesAndTimes
import Postgres

/// The outcomes table's partitions, one for each UTC day. Writers never wait for a partition: records of a day without
/// a partition go to the default partition. No step blocks a writer for longer than the SQL functions' `lock_timeout`.
package enum OutcomePartitions {
    /// A batch ends within this many seconds. No change of partitions waits for the locks of an older SQL transaction.
    static let oldTransaction = 1.0

    private static let listing = LedgerSQL.statement(PackageResources.list_outcome_days_sql)
    static let making = PostgresStatement("SELECT make_outcomes_day($1::date) AS result")
    private static let dropping = PostgresStatement("SELECT drop_outcomes_day($1::date) AS is_dropped")

    /// The result for one day.
    enum Step: Equatable {
        case done
        /// There is nothing to do, or another replica does it.
        case nothing
        /// The day gets no partition yet, because the default partition has rows of the day, or is too large to search.
        case staysInDefault
        case blocked([LockHolder])
    }

    package static func list(in session: PostgresSession) throws -> (now: Timestamp, days: Set<OutcomeDay>) {
        let rows = try session.execute(listing)
        let name = try rows.column("name")
        guard let now = rows.int8(0, try rows.column("now")) else {
            throw PostgresError(sqlState: nil, message: "PostgreSQL returned no time", kind: .other)
        }
        let days = (0..<rows.count).compactMap { row in rows.text(row, name).flatMap(OutcomeDay.init(table:)) }
        return (Timestamp(milliseconds: now / 1000), Set(days))
    }

    /// Returns the days that should have a partition at any of these times.
    /// - Parameter kept: the days after which outcomes are dropped, at least 1.
    static func wanted(at times: [Timestamp], kept: Int32) -> Set<OutcomeDay> {
        Set(
            times.lazy.map(\.daysSinceEpoch).flatMap { today in
                ((today - min(kept, OutcomeDay.daysBehind))...(today + OutcomeDay.daysAhead))
                    .map(OutcomeDay.init(sinceEpoch:))
            })
    }

    static func make(_ day: OutcomeDay, in session: PostgresSession) throws -> Step {
        try changing(["outcomes_default"], in: session) { session in
            let parameter = PostgresParameter.date(daysSinceUnixEpoch: day.sinceEpoch)
            let rows = try session.execute(making, [parameter])
            switch rows.text(0, try rows.column("result")) {
            case "made": return .done
            case "exists": return .nothing
            default: return .staysInDefault
            }
        }
    }

    static func drop(_ day: OutcomeDay, in session: PostgresSession) throws -> Step {
        try changing(["outcomes", "outcomes_default", day.table], in: session) { session in
            let parameter = PostgresParameter.date(daysSinceUnixEpoch: day.sinceEpoch)
            let rows = try session.execute(dropping, [parameter])
            return rows.bool(0, try rows.column("is_dropped")) == true ? .done : .nothing
        }
    }

    /// Creates missing partitions for `migrate`, before rows are inserted. Stops at the first partition that a lock
    /// prevents.
    static func makeMissing(in session: PostgresSession) throws {
        let (now, days) = try list(in: session)
        for day in wanted(at: [now], kept: OutcomeDay.daysBehind).subtracting(days).sorted() {
            if case .blocked = try make(day, in: session) { return }
        }
    }

    /// Makes a change, unless the change would wait long for a lock: writers and readers queue behind a session that
    /// waits for an exclusive lock.
    private static func changing(
        _ tables: [String], in session: PostgresSession, _ body: (PostgresSession) throws -> Step
    ) throws -> Step {
        do {
            return try session.transaction { session in
                guard try AdvisoryLock.retention.take(unlessTakenIn: session) else { return .nothing }
                let holders = try LockHolder.find(tables, olderThan: oldTransaction, in: session)
                return holders.isEmpty ? try body(session) : .blocked(holders)
            }
        } catch let error as PostgresError where error.isLockTrouble {
            return .blocked(try LockHolder.find(tables, olderThan: 0, in: session))
        }
    }
}
