import Fulfillment
import Ledger
import Postgres
import Testing

@Suite("A submission whose SQL transaction fails again and again")
struct IsolationTests {
    private static func decision(_ number: Int64, product: String = "gold") -> PendingDecision {
        Sample.decision([Sample.judged(Sample.purchase("t\(number)", product: product))], offset: number)
    }

    /// Returns SQL for a trigger that refuses grants of `product` with `sqlState`.
    private static func cursing(_ product: String, sqlState: String) -> String {
        """
        CREATE FUNCTION curse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            RAISE EXCEPTION 'no' USING ERRCODE = '\(sqlState)';
        END $$;
        CREATE TRIGGER curse BEFORE INSERT ON grants FOR EACH ROW WHEN (NEW.product_id = '\(product)')
            EXECUTE FUNCTION curse()
        """
    }

    @Test(
        "if a submission's grants were deleted by hand, it is parked; the other 59 of its batch are granted",
        .timeLimit(.minutes(2)))
    func grantsGone() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let first = Self.decision(0)
        #expect(try await ledger.record(first).granted.count == 1)
        try await database.run("DELETE FROM grants")
        let decisions = [first] + (1..<60).map { Self.decision($0) }
        let outcomes = try await recordAll(decisions, in: ledger)
        #expect(outcomes[0] == .parked)
        #expect(outcomes.flatMap(\.granted).count == 59)
        // The refused purchase has no grant.
        #expect(try await database.number("SELECT count(*) FROM grants WHERE transaction_id = 't0'") == 0)
        let parked = """
            SELECT count(*) FROM parked
            WHERE source_offset = 0 AND reason = 'database_refused' AND due_at IS NULL AND detail LIKE '%deleted the grants%'
            """
        #expect(try await database.number(parked) == 1)
        await ledger.close()
    }

    @Test(
        "if a submission fails even in a batch of its own, it is parked; the other 99 submissions are granted",
        .timeLimit(.minutes(2)))
    func ownError() async throws {
        let database = try await LedgerDatabase()
        try await database.run(Self.cursing("cursed", sqlState: "P0001"))
        let ledger = database.ledger()
        let decisions = (0..<100).map { Self.decision($0, product: $0 == 57 ? "cursed" : "gold") }
        async let recorded = recordAll(decisions, in: ledger)
        let parked = "SELECT count(*) FROM parked WHERE source_offset = 57 AND sql_state = 'P0001'"
        var next: Int64 = 1_000
        while try await database.number(parked) == 0 {
            // Other decisions succeed meanwhile, which shows that this submission is at fault and not the database.
            #expect(try await ledger.record(Self.decision(next)).granted.count == 1)
            next += 1
        }
        let outcomes = try await recorded
        #expect(outcomes[57] == .parked)
        #expect(outcomes.flatMap(\.granted).count == 99)
        await ledger.close()
    }

    @Test(
        "if a submission fails for a missing privilege, it is not parked, and is granted when the cause is removed",
        .timeLimit(.minutes(2)))
    func missingRight() async throws {
        let database = try await LedgerDatabase()
        try await database.run(Self.cursing("cursed", sqlState: "42501"))
        let ledger = database.ledger()
        let decisions = (0..<40).map { Self.decision($0, product: $0 == 7 ? "cursed" : "gold") }
        async let recorded = recordAll(decisions, in: ledger)
        for number in Int64(1_000)..<1_020 {
            #expect(try await ledger.record(Self.decision(number)).granted.count == 1)
        }
        #expect(try await database.number("SELECT count(*) FROM grants") >= 20)
        try await database.run("DROP TRIGGER curse ON grants")
        let outcomes = try await recorded
        #expect(outcomes.flatMap(\.granted).count == 40)
        #expect(try await database.number("SELECT count(*) FROM parked") == 0)
        await ledger.close()
    }

    @Test(
        "while all SQL transactions fail, no submission is parked; after the repair, every submission is granted",
        .timeLimit(.minutes(2)))
    func everything() async throws {
        let database = try await LedgerDatabase()
        try await database.run(Self.cursing("gold", sqlState: "P0001"))
        let failures = Failures()
        let ledger = database.ledger(observer: failures.observer)
        let decisions = (0..<8).map { Self.decision($0) }
        async let recorded = recordAll(decisions, in: ledger)
        await failures.wait(for: 30)
        #expect(try await database.number("SELECT count(*) FROM parked") == 0)
        try await database.run("DROP TRIGGER curse ON grants")
        #expect(try await recorded.flatMap(\.granted).count == 8)
        await ledger.close()
    }
}

/// Counts the failed SQL transactions that the ledger reports to its observer.
final class Failures: Sendable {
    private let stream = AsyncStream<Void>.makeStream()

    var observer: LedgerObserver {
        let continuation = stream.continuation
        return LedgerObserver(trouble: { if case .failed = $0 { continuation.yield() } })
    }

    func wait(for count: Int) async {
        var left = count
        for await _ in stream.stream {
            left -= 1
            if left <= 0 { return }
        }
    }
}
