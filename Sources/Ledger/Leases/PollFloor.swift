import Postgres
import Synchronization

/// The time from which a repeated search through a table starts. A deleted row stays in the index while any old
/// snapshot can see it, and a search from the beginning would read it each time. A search from the beginning happens
/// now and then all the same, for rows of a transaction that took long to commit.
public final class PollFloor: Sendable {
    /// Rows in the order of the time at which each was written or is due. No row has a time before its transaction
    /// began.
    public struct Rows: Sendable {
        public static let outbox = Rows("outbox", by: "created_at", wholeSeconds: 600)
        public static let parked = Rows("parked", by: "due_at")
        public static let finishes = Rows("finishes", by: "due_at")
        public static let refundRequests = Rows("refund_requests", by: "due_at")

        static let all = [outbox, parked, finishes, refundRequests]

        let statement: PostgresStatement
        /// The time between two looks from the beginning.
        fileprivate let whole: Duration

        private init(_ table: String, by column: String, wholeSeconds: Int = 60) {
            whole = .seconds(wholeSeconds)
            // $1 the floor. Microseconds of Unix time.
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

    /// The result of a look.
    struct Found {
        /// The time of the first row that is there. Nil: there is none.
        let first: Int64?
        /// PostgreSQL's, as the first. Microseconds of Unix time.
        let now: Int64
        /// Whether the look began at the beginning.
        let isWhole: Bool

        /// Whether there is anything of a time so long ago, as far as is known.
        func has(olderThanSeconds seconds: Double) -> Bool {
            first.map { $0 <= now - Int64(seconds * 1_000_000) } ?? false
        }

        /// Whether there is anything of a time that is far off: it was written while the clock was ahead.
        var hasAhead: Bool { first.map { $0 > now + 60_000_000 } ?? false }
    }

    private let rows: Rows
    private let state = Mutex(FloorState())
    private let wholeLook = Mutex<ContinuousClock.Instant?>(nil)

    public init(_ rows: Rows) {
        self.rows = rows
    }

    /// The beginning of the next look, unless it is a whole one. Microseconds of Unix time.
    var current: Int64 { state.withLock(\.floor) }

    /// Whether a lease may find anything. Looks; true where that began at the beginning. Throws a `PostgresError`.
    func mayBeDue(in session: PostgresSession) throws -> Bool {
        let found = try look(in: session)
        return found.isWhole || found.has(olderThanSeconds: 0)
    }

    /// One look, which moves the floor up to the first row that is there. Throws a `PostgresError`.
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
            throw PostgresError(sqlState: nil, message: "no clock", kind: .other)
        }
        let history = found.text(0, try found.column("history"))
        state.withLock {
            $0.advance(
                from: floor, first: first, at: FloorState.Mark(time: now, next: next), oldest: oldest, in: history)
        }
        return Found(first: first, now: now, isWhole: isWhole)
    }
}

/// The floor itself, as looks go on.
struct FloorState {
    /// A look: transactions that have a number below `next` were under way then, or over.
    struct Mark {
        let time: Int64
        let next: Int64
    }

    /// A time before any other, in microseconds of Unix time.
    static let beginning: Int64 = 0
    /// The microseconds from a transaction's begin to its first row, which gives it a number. Microseconds.
    private static let toFirstRow: Int64 = 2_000_000
    /// A transaction so old has shown its rows, or has no session any more. Microseconds.
    private static let longestTransaction: Int64 = 60_000_000

    private(set) var floor = beginning
    private var mark: Mark?
    private var history: String?

    /// - Parameters:
    ///   - first: the first row from `before` on.
    ///   - oldest: the lowest number of a transaction that was under way at this look.
    mutating func advance(from before: Int64, first: Int64?, at look: Mark, oldest: Int64, in history: String?) {
        // Another database, or a clock that was set back: rows may have come below the floor.
        guard self.history == history, look.time >= mark?.time ?? look.time, look.next >= mark?.next ?? look.next else {
            self = FloorState()
            self.history = history
            mark = look
            return
        }
        var shown = look.time - Self.longestTransaction
        if let mark, oldest >= mark.next {
            // All that were under way at the mark are over, and their rows are in this look.
            shown = max(shown, mark.time - Self.toFirstRow)
            self.mark = look
        }
        floor = max(before, min(first ?? .max, shown))
        if mark == nil { mark = look }
    }
}
