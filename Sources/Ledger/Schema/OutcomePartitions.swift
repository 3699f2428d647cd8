import Fulfillment
import Postgres

/// The outcomes' partitions, one for each UTC day by PostgreSQL's clock.
enum OutcomePartitions {
    /// Days before and after today that have a partition of their own.
    static let daysBehind: Int32 = 1
    static let daysAhead: Int32 = 2

    struct Day: Hashable, Comparable {
        let sinceEpoch: Int32

        private var date: String { String(Timestamp(day: sinceEpoch).rfc3339.prefix(10)) }
        var table: String { "outcomes_" + date.replacing("-", with: "") }

        /// Only digits and hyphens come from outside: both names are safe to write into SQL.
        var creation: String {
            """
            CREATE TABLE \(table) (LIKE outcomes INCLUDING ALL);
            ALTER TABLE \(table) ADD CONSTRAINT its_day CHECK (day = DATE '\(date)');
            ALTER TABLE outcomes ATTACH PARTITION \(table)
                FOR VALUES FROM ('\(date)') TO ('\(Day(sinceEpoch: sinceEpoch + 1).date)');
            ALTER TABLE \(table) DROP CONSTRAINT its_day
            """
        }

        static func < (left: Day, right: Day) -> Bool { left.sinceEpoch < right.sinceEpoch }
    }

    private static let listing = LedgerSQL.statement(PackageResources.outcome_partitions_sql)
    private static let findingInDefault = LedgerSQL.statement(PackageResources.default_holds_day_sql)

    static func list(in session: PostgresSession) throws -> (today: Day, days: Set<Day>) {
        let rows = try session.execute(listing)
        guard let today = rows.dateDays(0, 0) else {
            throw PostgresError(sqlState: nil, message: "no clock", kind: .other)
        }
        let days = (0..<rows.count).compactMap { row in rows.text(row, 1).flatMap(Day.init(table:)) }
        return (Day(sinceEpoch: today), Set(days))
    }

    /// Makes what is missing, a transaction each, and returns the days whose rows already lie in the default partition:
    /// those stay there.
    @discardableResult
    static func makeAhead(in session: PostgresSession) throws -> (made: [String], skipped: [String]) {
        let (today, days) = try list(in: session)
        var made: [String] = []
        var skipped: [String] = []
        for sinceEpoch in (today.sinceEpoch - daysBehind)...(today.sinceEpoch + daysAhead) {
            let day = Day(sinceEpoch: sinceEpoch)
            if days.contains(day) { continue }
            try changing(session) { session in
                // Another replica may have made it while we waited.
                if try list(in: session).days.contains(day) { return }
                let isTaken = try session.execute(findingInDefault, [.date(daysSinceUnixEpoch: sinceEpoch)])
                guard isTaken.bool(0, 0) == false else { return skipped.append(day.table) }
                try session.run(script: day.creation)
                made.append(day.table)
            }
        }
        return (made, skipped)
    }

    /// Drops whole days that lie more than `retentionDays` back.
    static func dropOld(retentionDays: Int32, in session: PostgresSession) throws -> [String] {
        var dropped: [String] = []
        let (today, days) = try list(in: session)
        for day in days.sorted() where day.sinceEpoch < today.sinceEpoch - retentionDays {
            try changing(session) { session in
                try session.run(script: "DROP TABLE IF EXISTS \(day.table)")
            }
            dropped.append(day.table)
        }
        return dropped
    }

    /// One replica at a time, and never long in the way of writers, who queue behind a lock that is waited for.
    private static func changing(_ session: PostgresSession, _ body: (PostgresSession) throws -> Void) throws {
        try session.transaction { session in
            try AdvisoryLock.retention.take(in: session)
            try session.run(script: "SET LOCAL lock_timeout = '2s'")
            try body(session)
        }
    }
}

extension OutcomePartitions.Day {
    /// Nil where the table is no day's.
    init?(table: String) {
        let digits = table.dropFirst("outcomes_".count)
        let date = "\(digits.prefix(4))-\(digits.dropFirst(4).prefix(2))-\(digits.suffix(2))"
        guard table.hasPrefix("outcomes_"), digits.count == 8, let time = Timestamp(rfc3339: date + "T00:00:00Z")
        else { return nil }
        self.init(sinceEpoch: time.daysSinceEpoch)
    }
}

extension Timestamp {
    fileprivate init(day: Int32) {
        self.init(milliseconds: Int64(day) * 86_400_000)
    }
}
