import Postgres
import Synchronization

/// Where a repeated walk through the outbox begins: what was published before is gone, but stays in the index for as long as
/// a backup reads, and would be walked through each time. Now and then a walk begins at the beginning all the same, for
/// events of transactions that took long to commit.
public final class OutboxFloor: Sendable {
    /// Between two walks from the beginning.
    private static let wholeWalks = Duration.seconds(600)
    /// Before any event. Microseconds of Unix time.
    private static let beginning: Int64 = 0

    private static let statement = LedgerSQL.statement(PackageResources.find_outbox_floor_sql)

    private struct State {
        var floor = OutboxFloor.beginning
        var wholeWalk: ContinuousClock.Instant?
    }

    private let state = Mutex(State())

    public init() {}

    /// For the next walk. PostgreSQL's clock, as a parameter.
    func begin(now: ContinuousClock.Instant = .now) -> PostgresParameter {
        state.withLock { state in
            if state.wholeWalk.map({ now - $0 >= Self.wholeWalks }) ?? true {
                state.floor = Self.beginning
                state.wholeWalk = now
            }
            return .timestamptz(unixMicroseconds: state.floor)
        }
    }

    /// After a walk to the end.
    func advance(in session: PostgresSession) throws {
        let before = state.withLock(\.floor)
        let rows = try session.execute(Self.statement, [.timestamptz(unixMicroseconds: before)])
        guard let found = rows.int8(0, try rows.column("since")) else { return }
        state.withLock { $0.floor = found }
    }
}
