import Foundation
import NamesAndTimes
import Postgres
import Testing

@testable import BackOffice
@testable import Ledger

@Suite("The console's traffic counts, changes and refunds")
struct TrafficStoreTests {
    @Test("the console's traffic counts are summed over all workers, by minute and by hour")
    func added() async throws {
        let database = try await LedgerDatabase()
        let store = TrafficStore(pool: database.pool)
        let counts = [
            TrafficCount(.ofClass, "foreign", 79), TrafficCount(.outcome, "receipt.rejected foreign_app", 79),
            TrafficCount(.deadLetter, "malformed", 1), TrafficCount(.apple, "x", 0),
        ]
        try await store.add(counts)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for _ in 0..<4 { tasks.addTask { try await store.add(counts.reversed()) } }
            try await tasks.waitForAll()
        }
        for span in TrafficSpan.allCases {
            let traffic = try await Traffic.read(span, from: database.pool)
            #expect(traffic.rows.map(\.name) == ["foreign", "malformed", "receipt.rejected foreign_app"])
            #expect(traffic.rows(.ofClass).map(\.total) == [5 * 79])
            #expect(traffic.rows(.deadLetter).map(\.total) == [5])
            #expect(traffic.rows.allSatisfy { $0.bins.count == span.bins })
        }
        #expect(try await database.number("SELECT count(*) FROM traffic_minutes WHERE name = 'x'") == 0)
    }

    @Test("if a worker reports more names of traffic counts than the limit allows, the rest are not stored")
    func bounded() async throws {
        let database = try await LedgerDatabase()
        let many = (0..<1_000).map { TrafficCount(.apple, "result-\($0)", 1) }
        try await TrafficStore(pool: database.pool).add(many)
        #expect(try await database.number("SELECT count(*) FROM traffic_hours") == Int64(TrafficStore.maximumNames))
    }

    @Test("maintenance deletes traffic counts by minute after two days, and traffic counts by hour after 90 days")
    func forgotten() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO traffic_minutes
            SELECT date_trunc('minute', now()) - n * interval '1 day', 'class', 'genuine', 1 FROM generate_series(0, 4) AS n;
            INSERT INTO traffic_hours
            SELECT date_trunc('hour', now()) - n * interval '1 day', 'class', 'genuine', 1 FROM generate_series(0, 100) AS n
            """)
        _ = try await OutcomeRetention(pool: database.pool, days: 30, turnSeconds: 0).run(
            now: .init(milliseconds: Self.now))
        #expect(try await database.number("SELECT count(*) FROM traffic_minutes") == 3)
        #expect(try await database.number("SELECT count(*) FROM traffic_hours") == 91)
    }

    private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

    @Test("if an operator changes something in the console, the change is stored first, and its result is set once")
    func changes() async throws {
        let database = try await LedgerDatabase()
        let changes = ConsoleChanges(pool: database.pool)
        let first = try await changes.begin("release", of: "all", shown: 12, by: "ann", note: nil)
        let second = try await changes.begin("revoke", of: "1001", shown: 1, by: "ann", note: "chargeback")
        try await changes.end(second, result: "revoked")
        try await changes.end(second, result: "something else")
        let listed = try await changes.list(limit: 10, skipping: 0)
        #expect(listed.map(\.id) == [second, first])
        #expect(listed.map(\.result) == ["revoked", nil])
        #expect(listed.map(\.note) == ["chargeback", nil])
        #expect(try await changes.list(limit: 10, skipping: 1).map(\.shown) == [12])
    }

    @Test(
        "the console lists refunds with their percentage, newest notification first, and filters them by app and state")
    func refunds() async throws {
        let database = try await LedgerDatabase()
        try await database.run(
            """
            INSERT INTO refunds (transaction_id, bundle_id, environment, original_transaction_id, product_id, revoked_at, reason,
                refunded_milli_percent, signed_at, noted_at)
            VALUES ('1', 'b', 'Production', '1', 'gold', now(), 'refund', 50000, now(), now() - interval '1 hour'),
                ('2', 'b', 'Production', '2', 'gold', NULL, NULL, NULL, now(), now()),
                ('3', 'c', 'Production', '3', 'gold', now(), 'revoke', NULL, now(), now() - interval '2 hours')
            """)
        let store = RefundAdministration(pool: database.pool)
        #expect(try await store.list(RefundFilter(), limit: 10).map(\.transactionID) == ["2", "1", "3"])
        #expect(try await store.list(RefundFilter(), limit: 10).map(\.percent) == [nil, 50, nil])
        #expect(try await store.list(RefundFilter(state: .reversed), limit: 10).map(\.transactionID) == ["2"])
        #expect(try await store.list(RefundFilter(bundleID: "b", state: .refunded), limit: 10).map(\.playerID) == [nil])
        #expect(try await store.count(RefundFilter(), limit: 2) == 2)
        #expect(try await store.count(RefundFilter(bundleID: "c"), limit: 9) == 1)
    }
}
