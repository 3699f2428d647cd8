import EmbeddedPostgres
import Fulfillment
import NamesAndTimes
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Ledger

/// Counts a batch's cost for the database instead of timing it, so that one more round trip or row write fails a test.
@Suite("The PostgreSQL cost of a batch of decisions")
struct BatchCostTests {
    /// Returns how often the session has run prepared statements. This query and BEGIN do not count.
    private static func runs(_ pool: PostgresPool) async throws -> Int {
        let runs = try await pool.run { session in
            try session.execute(
                PostgresStatement(
                    """
                    SELECT sum(generic_plans + custom_plans)::int8 FROM pg_prepared_statements
                    WHERE statement !~ 'pg_prepared_statements'
                    """)
            ).int8(0, 0)
        }
        return Int(runs ?? 0)
    }

    private static func purchase(_ number: Int) -> PendingDecision {
        Sample.decision(
            [Sample.judged(Sample.purchase("\(number)"))], player: "player-\(number)", offset: Int64(number))
    }

    @Test("a batch of new purchases takes two statements and three round trips, and at most five row writes a purchase")
    func firstPurchases() async throws {
        let database = try await LedgerDatabase()
        var limits = PostgresLedger.Limits()
        limits.writers = 1
        // With this long delay, only a later batch deletes the rows of acknowledged events, however slow the machine
        // is.
        limits.acknowledgementDelay = .seconds(3_600)
        let port = try LedgerDatabase.server.get().port
        let proxy = try DatabaseProxy(server: UInt16(port))
        defer { proxy.close() }
        let pool = LedgerDatabase.pool(database.uri.replacing(":\(port)/", with: ":\(proxy.port)/"), size: 1)
        let ledger = PostgresLedger(pool: pool, limits: limits)
        // The first batch prepares the statements.
        let first = try await ledger.record(Self.purchase(1))
        ledger.published(first.events.map(\.eventID))
        let (runs, commits) = (try await Self.runs(pool), ledger.commits.load(ordering: .relaxed))
        let roundTrips = proxy.roundTrips
        for number in 2...20 {
            let outcome = try await ledger.record(Self.purchase(number))
            ledger.published(outcome.events.map(\.eventID))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 21...100 {
                group.addTask {
                    let outcome = try await ledger.record(Self.purchase(number))
                    ledger.published(outcome.events.map(\.eventID))
                }
            }
            try await group.waitForAll()
        }
        let batches = ledger.commits.load(ordering: .relaxed) - commits
        #expect(batches >= 20 && batches < 60)
        #expect(proxy.roundTrips - roundTrips == 3 * batches)
        #expect(try await Self.runs(pool) - runs == 2 * batches)
        await ledger.close()
        await pool.close()
        // A purchase writes a claim, a grant, an outcome and an outbox row, and then deletes the outbox row. A batch
        // writes the partition's progress.
        let most = 100 * 5 + batches + 1
        var counted = 0
        // PostgreSQL adds a session's counts when the session ends.
        try await eventually("the rows are counted") {
            counted = try await database.number(
                "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::int8 FROM pg_stat_user_tables WHERE relname <> 'schema_version'"
            )
            let granted = try await database.number(
                "SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'grants'")
            // The session may add its counts between these two queries.
            return granted == 100 && counted >= granted
        }
        #expect(counted <= most, "\(counted) rows, at most \(most)")
        #expect(counted > 400, "\(counted) rows")
    }
}
