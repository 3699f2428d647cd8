import Fulfillment
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Ledger

@Suite("A database that falls back while a worker runs")
struct FallBackWatchTests {
    private static let endSessions = """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
        """

    @Test("if a new connection shows that a decision was lost, the ledger decides nothing until the losses are known")
    func lostDecision() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let falls = Atomic<Int>(0)
        ledger.watchFallBacks { falls.add(1, ordering: .relaxed) }
        _ = try await ledger.record(Sample.decision([Sample.judged(Sample.purchase("1000"))], player: "a", offset: 1))
        try await database.run("DELETE FROM outbox; DELETE FROM grants; DELETE FROM claims; DELETE FROM outcomes")
        try await database.run(Self.endSessions)
        // The worker judged this submission before the fall-back. The ledger refuses the decision, and Kafka delivers
        // the record again.
        await #expect(throws: LedgerClosed.self) {
            try await ledger.settle(
                Sample.decision([Sample.judged(Sample.purchase("1000"))], player: "b", offset: 2))
        }
        #expect(falls.load(ordering: .relaxed) == 1)
        async let other = ledger.record(
            Sample.decision(
                [Sample.judged(Sample.purchase("1000"))], player: "b", offset: 2, fallBackCount: 1))
        #expect(try await database.number("SELECT count(*) FROM grants") == 0)
        // The INSERT stands for another writer that has restored the owner's claim by now.
        try await database.run(
            """
            INSERT INTO claims (original_transaction_id, player_id, bundle_id, granted_transaction_id)
            VALUES ('1000', 'a', 'com.example.game', '1000')
            """
        )
        ledger.lossesAreKnown(after: 1)
        #expect(try await other.reason == .ownedByOtherPlayer)
        #expect(falls.load(ordering: .relaxed) == 1)
        await ledger.close()
    }

    @Test("a new connection to the unchanged database does not count as a fall-back of the database")
    func sameState() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        ledger.watchFallBacks { Issue.record("nothing fell back") }
        for offset in 1...3 {
            let decision = Sample.decision([Sample.judged(Sample.purchase("\(offset)"))], offset: Int64(offset))
            #expect(try await ledger.record(decision).granted.count == 1)
            try await database.run(Self.endSessions)
        }
        await ledger.close()
    }

    @Test(
        "after a new connection to a copy of the database, the ledger decides nothing until the copy's losses are known"
    )
    func otherDatabase() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let falls = Atomic<Int>(0)
        ledger.watchFallBacks { falls.add(1, ordering: .relaxed) }
        _ = try await ledger.record(Sample.decision([Sample.judged(Sample.purchase("1000"))], offset: 1))
        let copy = try await database.replaceByCopy()
        await #expect(throws: LedgerClosed.self) {
            try await ledger.settle(Sample.decision([Sample.judged(Sample.purchase("1001"))], offset: 2))
        }
        #expect(falls.load(ordering: .relaxed) == 1)
        async let next = ledger.record(
            Sample.decision([Sample.judged(Sample.purchase("1001"))], offset: 2, fallBackCount: 1))
        #expect(try await copy.number("SELECT count(*) FROM grants") == 1)
        ledger.lossesAreKnown(after: 1)
        #expect(try await next.granted.count == 1)
        #expect(falls.load(ordering: .relaxed) == 1)
        await ledger.close()
    }

    @Test("if a ledger has decided nothing yet, it still notices each replacement of its database by a copy")
    func otherDatabaseBeforeTheFirst() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let falls = Atomic<Int>(0)
        ledger.watchFallBacks { falls.add(1, ordering: .relaxed) }
        try await ledger.meetDatabase()
        ledger.lossesAreKnown(after: 0)
        _ = try await database.replaceByCopy()
        await #expect(throws: LedgerClosed.self) {
            try await ledger.settle(Sample.decision([Sample.judged(Sample.purchase("1000"))], offset: 1))
        }
        #expect(falls.load(ordering: .relaxed) == 1)
        ledger.lossesAreKnown(after: 1)
        // The ledger knows the first copy by now, so a second copy is a new fall-back.
        _ = try await database.replaceByCopy()
        await #expect(throws: LedgerClosed.self) {
            try await ledger.settle(
                Sample.decision([Sample.judged(Sample.purchase("1000"))], offset: 1, fallBackCount: 1))
        }
        #expect(falls.load(ordering: .relaxed) == 2)
        await ledger.close()
    }

    @Test("if a decision was lost, the ledger applies no notification and leases no hold until the losses are known")
    func everyDecision() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let falls = Atomic<Int>(0)
        ledger.watchFallBacks { falls.add(1, ordering: .relaxed) }
        _ = try await ledger.record(Sample.decision([Sample.judged(Sample.purchase("1000"))], offset: 1))
        try await database.run("DELETE FROM outbox; DELETE FROM grants; DELETE FROM claims; DELETE FROM outcomes")
        try await database.run(Self.endSessions)
        let notices = PostgresNotices(pool: ledger.deciding, fallBacks: ledger.fallBacks)
        await #expect(throws: PostgresError.self) { try await refund("1000", by: notices) }
        #expect(falls.load(ordering: .relaxed) == 1)
        await #expect(throws: PostgresError.self) {
            try await PostgresHolds(pool: ledger.deciding, longestDelay: 60).leaseDue(
                catalogVersion: 1, limit: 1)
        }
        #expect(try await database.number("SELECT count(*) FROM notifications") == 0)
        // If a search for lost decisions began before the fall-back, it does not end the wait.
        ledger.lossesAreKnown(after: 0)
        await #expect(throws: PostgresError.self) { try await refund("1000", by: notices) }
        ledger.lossesAreKnown(after: 1)
        #expect(try await refund("1000", by: notices) == ["remembered"])
        #expect(falls.load(ordering: .relaxed) == 1)
        await ledger.close()
    }

    @Test("if the database loses an applied notification, the ledger notices the loss before the next decision")
    func lostNotice() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let falls = Atomic<Int>(0)
        ledger.watchFallBacks { falls.add(1, ordering: .relaxed) }
        let notices = PostgresNotices(pool: ledger.deciding, fallBacks: ledger.fallBacks)
        _ = try await refund("1000", by: notices)
        try await database.run(Self.endSessions)
        _ = try await refund("1001", by: notices)
        #expect(falls.load(ordering: .relaxed) == 0)
        try await database.run("DELETE FROM notifications; DELETE FROM refund_notices; DELETE FROM claims")
        try await database.run(Self.endSessions)
        let decision = Sample.decision(
            [Sample.judged(Sample.purchase("1000"))], player: "b", offset: 2, fallBackCount: 1)
        await #expect(throws: LedgerClosed.self) {
            try await ledger.settle(Sample.decision([Sample.judged(Sample.purchase("1000"))], player: "b", offset: 2))
        }
        #expect(falls.load(ordering: .relaxed) == 1)
        async let next = ledger.record(decision)
        #expect(try await database.number("SELECT count(*) FROM grants") == 0)
        _ = try await PostgresNotices(pool: database.pool).apply(
            [RefundTests().received(.refund, of: "1000")], catalog: RefundTests.catalog)
        ledger.lossesAreKnown(after: 1)
        #expect(try await next.reason == .cancelled)
        await ledger.close()
    }

    private func refund(_ id: String, by notices: PostgresNotices) async throws -> [String] {
        let received = RefundTests().received(.refund, of: id)
        return try await notices.apply([received], catalog: RefundTests.catalog).value.effects.map {
            if case .applied(let effect) = $0 { effect.name } else { "refused" }
        }
    }
}
