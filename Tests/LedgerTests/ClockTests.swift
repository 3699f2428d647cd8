import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import Testing

/// PostgreSQL's clock was two days ahead when these rows were written, and is correct again.
@Suite("Rows that were written while PostgreSQL's clock was ahead")
struct ClockTests {
    @Test(
        "if a parked submission's due time and lease end are two days ahead, a worker leases it immediately and once",
        arguments: [0, 3])
    func parked(takes: Int) async throws {
        let database = try await LedgerDatabase()
        let store = PostgresParking(pool: LedgerDatabase.pool(database.uri))
        try await store.park(
            ParkingSubmission(
                submission: Sample.submission("s", player: "p"), position: Sample.position(1),
                proof: Sample.digest("p"), traceparent: nil, reason: .appleTrouble, history: WaitingHistory(),
                dueAfterSeconds: 60))
        try await database.run(
            """
            UPDATE parked SET due_at = due_at + interval '2 days', leased_until = now() + interval '2 days',
                takes = \(takes)
            """)
        let taken = try await store.leaseDue(limit: 5)
        if takes == 0 {
            #expect(taken.count == 1)
        } else {
            #expect(try await store.hasSuspect())
            guard case .isolated = try await store.leaseSuspect() else {
                Issue.record("not taken")
                return
            }
        }
        // The lease counts from now, so no other worker leases the submission.
        #expect(try await store.leaseDue(limit: 5).isEmpty)
        #expect(try await store.hasSuspect() == false)
        await store.close()
    }

    @Test("if retry delays may last a week, no worker leases a submission before the end of its three-day delay")
    func longDelay() async throws {
        let database = try await LedgerDatabase()
        // An operator may set RETRY_DOUBT_SECONDS to a delay of days.
        let store = PostgresParking(pool: LedgerDatabase.pool(database.uri), longestDelay: 600_000)
        try await store.park(
            ParkingSubmission(
                submission: Sample.submission("s", player: "p"), position: Sample.position(1),
                proof: Sample.digest("p"), traceparent: nil, reason: .appleTrouble, history: WaitingHistory(),
                dueAfterSeconds: 300_000))
        #expect(try await store.leaseDue(limit: 5).isEmpty)
        await store.close()
    }

    @Test("if a hold's due time and lease end are two days ahead, a worker leases the hold immediately and once")
    func holds() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await ledger.record(
            Sample.decision([Sample.judged(Sample.purchase("1000"), nil, .hold(.unknownProduct))], offset: 1))
        try await database.run(
            "UPDATE holds SET due_at = now() + interval '2 days', leased_until = now() + interval '2 days'")
        let holds = PostgresHolds(pool: database.pool)
        #expect(try await holds.leaseDue(catalogVersion: 1, limit: 5).map(\.transactionID) == ["1000"])
        #expect(try await holds.leaseDue(catalogVersion: 1, limit: 5).isEmpty)
        await ledger.close()
    }

    @Test(
        "if an outbox event's creation or lease end is two days ahead, a worker leases the event immediately and once")
    func outbox() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        for offset in Int64(1)...2 {
            _ = try await ledger.record(
                Sample.decision([Sample.judged(Sample.purchase("\(offset)"))], offset: offset))
        }
        try await database.run(
            """
            UPDATE outbox SET created_at = created_at + interval '2 days' WHERE transaction_id = '1';
            UPDATE outbox SET created_at = now() - interval '1 minute', leased_until = now() + interval '2 days'
            WHERE transaction_id = '2'
            """)
        let sweeper = OutboxSweeper(pool: database.pool)
        #expect(try await sweeper.leaseOrphans(olderThanSeconds: 10, limit: 10, leaseSeconds: 30).count == 2)
        #expect(try await sweeper.leaseOrphans(olderThanSeconds: 10, limit: 10, leaseSeconds: 30).isEmpty)
        await ledger.close()
    }

    @Test("if a stop of requests to Apple ends two days ahead, the replicas ignore it, and a new stop takes effect")
    func budget() async throws {
        let database = try await LedgerDatabase()
        let budget = PostgresAppleBudget(pool: database.pool)
        let scope = AppleScope(bundleID: Sample.bundle, endpoint: "verifyReceipt", environment: .production)
        try await budget.hold(scope, seconds: 60)
        #expect(try await budget.holds().keys.contains(scope))
        try await database.run("UPDATE apple_budgets SET held_until = held_until + interval '2 days'")
        #expect(try await budget.holds().isEmpty)
        try await budget.hold(scope, seconds: 60)
        #expect(try await budget.holds()[scope].map { $0 <= 60 } == true)
    }
}
