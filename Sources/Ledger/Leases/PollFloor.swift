import Postgres
import Synchronization

/// The row time from which a repeated search reads a table. A deleted row stays in the index while an old snapshot
/// can see it, and each search from the beginning would read it. Now and then a search still starts at the beginning,
/// to find rows of an SQL transaction that took long to commit.
public final class PollFloor: Sendable {
    /// A table's rows, sorted by the time at which each was written or is due. No row has a time before the start of
    /// the SQL transaction that wrote it.
    public struct Rows: Sendable {
        public static let outbox = Rows("outbox", by: "created_at", wholeSeconds: 600)
        public static let parked = Rows("parked", by: "due_at")
        public static let finishes = Rows("finishes", by: "due_at")
        public static let refundRequests = Rows("refund_requests", by: "due_at")

        static let all = [outbox, parked, finishes, refundRequests]

        let statement: PostgresStatement
        /// The time between two searches from the beginning.
        fileprivate let whole: Duration

        private init(_ table: String, by column: String, wholeSeconds: Int = 60) {
            whole = .seconds(wholeSeconds)
            // $1 is the floor. All returned times are microseconds of Unix time.
            statement = PostgresStatement(
                """
                SELECT (extract(epoch FROM (
                    SELECT \(column) FROM \(table) WHERE \(column) >= $1::timestamptz
                    ORDER BY \(column) LIMIT 1)) * 1000000)::int8 AS first,
                    (extract(epoch FROM now()) * 1000000)::int8 AS now,
                    pg_snapshot_xmin(pg_current_snapshot())::text::int8 AS oldest,
                    pg_snapshot_xmax(pg_current_snapshot())::text::int8 AS next,
                    database_history() AS history
                """)
        }
    }

    /// The result of a search.
    struct Found {
        /// The time of the first row, in microseconds of Unix time; nil if the search found no row.
        let first: Int64?
        /// PostgreSQL's time during the search, in microseconds of Unix time.
        let now: Int64
        /// True if the search started at the beginning.
        let isWhole: Bool

        /// Returns whether the first row is at least `seconds` old.
        func has(olderThanSeconds seconds: Double) -> Bool {
            first.map { $0 <= now - Int64(seconds * 1_000_000) } ?? false
        }

        /// True if the first row's time is far in the future, because the clock was ahead when it was written.
        var hasAhead: Bool { first.map { $0 > now + 60_000_000 } ?? false }
    }

    private let rows: Rows
    private let state = Mutex(FloorState())
    private let wholeLook = Mutex<ContinuousClock.Instant?>(nil)

    public init(_ rows: Rows) {
        self.rows = rows
    }

    /// The row time from which the next search reads, in microseconds of Unix time. A search from the beginning ignores
    /// it.
    var current: Int64 { state.withLock(\.floor) }

    /// Searches, and returns whether a lease could find a row. The result is always true after a search from the
    /// beginning. Throws a `PostgresError`.
    func mayBeDue(in session: PostgresSession) throws -> Bool {
        let found = try look(in: session)
        return found.isWhole || found.has(olderThanSeconds: 0)
    }

    /// Searches once, and raises the floor up to the first row. Throws a `PostgresError`.
    func look(in session: PostgresSession, at instant: ContinuousClock.Instant = .now) throws -> Found {
        let isWhole = wholeLook.withLock { last in
            guard last.map({ instant - $0 >= rows.whole }) ?? true else { return false }
            last = instant
            return true
        }
        let floor = isWhole ? FloorState.beginning : state.withLock(\.floor)
        let found = try session.execute(rows.statement, [.timestamptz(unixMicroseconds: floor)])
        let (now, oldest) = (found.int8(0, try found.column("now")), found.int8(0, try found.column("oldest")))
        let next = found.int8(0, try found.column("next"))
        let first = found.int8(0, try found.column("first"))
        guard let now, let oldest, let next else {
            throw PostgresError(sqlState: nil, message: "PostgreSQL returned no time", kind: .other)
        }
        let history = found.text(0, try found.column("history"))
        state.withLock {
            $0.advance(
                from: floor, first: first, at: FloorState.Mark(time: now, next: next), oldest: oldest, in: history)
        }
        return Found(first: first, now: now, isWhole: isWhole)
    }
}

/// Computes the floor from the results of searches.
struct FloorState {
    /// The snapshot of a search. An SQL transaction with a number below `next` was running then, or had ended.
    struct Mark {
        let time: Int64
        let next: Int64
    }

    /// A time before all others, in microseconds of Unix time.
    static let beginning: Int64 = 0
    /// The longest time, in microseconds, from the start of an SQL transaction to its first row, which gives the
    /// transaction its number.
    private static let toFirstRow: Int64 = 2_000_000
    /// The longest time of an SQL transaction, in microseconds. Afterwards its rows are visible, or PostgreSQL has
    /// ended its session.
    private static let longestTransaction: Int64 = 60_000_000

    private(set) var floor = beginning
    private var mark: Mark?
    private var history: String?

    /// Raises the floor after a search.
    /// - Parameters:
    ///   - first: the time of the first row from `before` on; nil if there is none.
    ///   - oldest: the lowest number of an SQL transaction that was running during this search.
    mutating func advance(from before: Int64, first: Int64?, at look: Mark, oldest: Int64, in history: String?) {
        // Another database answered, or its clock was set back. Rows may have appeared below the floor.
        guard self.history == history, look.time >= mark?.time ?? look.time, look.next >= mark?.next ?? look.next else {
            self = FloorState()
            self.history = history
            mark = look
            return
        }
        var shown = look.time - Self.longestTransaction
        if let mark, oldest >= mark.next {
            // All SQL transactions that were running at the mark have ended, and this search sees their rows.
            shown = max(shown, mark.time - Self.toFirstRow)
            self.mark = look
        }
        floor = max(before, min(first ?? .max, shown))
        if mark == nil { mark = look }
    }
}
