import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

@Suite("Stores, in memory and in PostgreSQL, of deliveries to report to Apple")
struct OwedFinishesConformance {
    struct Subject {
        let ledger: any PurchaseLedger
        let finishes: any OwedFinishes
        /// Ends all leases, as if all workers had died long ago, and acknowledges all events.
        let endLeases: () async throws -> Void
        /// Ages the rows by more than a week, which is the longest time for reporting a delivery.
        let age: () async throws -> Void

        func submit(
            _ id: String, original: String? = nil, _ kind: ProductKind? = .consumable, finishes: Bool = true,
            offset: Int64
        ) async throws -> RecordedOutcome {
            let purchase = Sample.judged(Sample.purchase(id, original: original), kind)
            return try await ledger.record(
                PendingDecision(
                    submission: Sample.submission("s-\(offset)", player: "player-1"), position: Sample.position(offset),
                    proof: Sample.digest("proof \(offset)"), verdict: .each([purchase]), environment: .sandbox,
                    evidence: nil, decidedAt: Sample.noon, catalogVersion: 1, traceparent: nil,
                    finishesGrants: finishes))
        }

        func lease(limit: Int = 10) async throws -> [LeasedFinish] {
            try await finishes.leaseDueFinishes(limit: limit)
        }
    }

    private func with(_ implementation: Implementation, _ body: (Subject) async throws -> Void) async throws {
        switch implementation {
        case .inMemory:
            let ledger = InMemoryLedger()
            try await body(
                Subject(
                    ledger: ledger, finishes: ledger,
                    endLeases: {
                        ledger.published(ledger.pendingEvents.map(\.eventID))
                        ledger.endFinishLeases()
                    }, age: ledger.ageFinishes))
        case .postgres:
            let database = try await LedgerDatabase()
            let ledger = database.ledger()
            try await body(
                Subject(
                    ledger: ledger, finishes: PostgresFinishes(pool: database.pool),
                    endLeases: {
                        try await database.run(
                            "DELETE FROM outbox; UPDATE finishes SET due_at = now() WHERE due_at IS NOT NULL")
                    },
                    age: {
                        try await database.run("UPDATE finishes SET created_at = created_at - interval '8 days'")
                    }))
            await ledger.close()
        }
    }

    @Test(
        "after Kafka acknowledges a grant's event, a worker leases the grant once to report the delivery to Apple",
        arguments: Implementation.allCases)
    func once(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.submit("1000", offset: 1)
            #expect(try await subject.lease().isEmpty)
            try await subject.endLeases()
            let leased = try await subject.lease()
            #expect(leased.map(\.transactionID) == ["1000"])
            #expect(leased.first?.bundleID == Sample.bundle && leased.first?.environment == .sandbox)
            #expect(leased.first?.isPastItsTime == false)
            // A worker has leased the delivery's report.
            #expect(try await subject.lease().isEmpty)
            for finish in leased { try await subject.finishes.end(finish, as: .finished) }
            try await subject.endLeases()
            #expect(try await subject.lease().isEmpty)
            // A further submission finds the purchase granted, and Apple already has the report.
            #expect(try await subject.submit("1000", offset: 2).reason == .alreadyGranted)
            try await subject.endLeases()
            #expect(try await subject.lease().isEmpty)
        }
    }

    @Test(
        "if a submission is rejected as already granted, its transaction becomes due for a delivery report to Apple",
        arguments: Implementation.allCases)
    func alreadyGranted(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.submit("1000", finishes: false, offset: 1)
            _ = try await subject.submit("1001", original: "900", .nonConsumable, finishes: false, offset: 2)
            try await subject.endLeases()
            #expect(try await subject.lease().isEmpty)
            #expect(try await subject.submit("1000", offset: 3).reason == .alreadyGranted)
            // Transaction 1002 is a restored copy of the original transaction 900.
            #expect(
                try await subject.submit("1002", original: "900", .nonConsumable, offset: 4).reason == .alreadyGranted)
            try await subject.endLeases()
            #expect(try await subject.lease().map(\.transactionID).sorted() == ["1000", "1002"])
        }
    }

    @Test(
        "auto-renewable purchases and purchases of an unknown kind are not reported to Apple",
        arguments: Implementation.allCases)
    func others(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.submit("1000", .autoRenewableSubscription, offset: 1)
            _ = try await subject.submit("1001", nil, offset: 2)
            _ = try await subject.submit("1002", .nonRenewingSubscription, offset: 3)
            _ = try await subject.submit("1003", .nonConsumable, offset: 4)
            try await subject.endLeases()
            #expect(try await subject.lease().map(\.transactionID).sorted() == ["1002", "1003"])
        }
    }

    @Test(
        "a postponed report to Apple is not due before the given time, and counts the tries",
        arguments: Implementation.allCases)
    func putOff(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            _ = try await subject.submit("1000", offset: 1)
            try await subject.endLeases()
            let first = try #require(try await subject.lease().first)
            #expect(first.tries == 1)
            try await subject.finishes.putOff(first, seconds: 600)
            #expect(try await subject.lease().isEmpty)
            // The first lease is over, so the first worker's results change nothing.
            try await subject.finishes.end(first, as: .refused)
            try await subject.finishes.putOff(first, seconds: 0)
            try await subject.finishes.release(first)
            #expect(try await subject.lease().isEmpty)
            try await subject.endLeases()
            let second = try #require(try await subject.lease().first)
            #expect(second.tries == 2)
            try await subject.finishes.release(second)
            #expect(try await subject.lease().map(\.tries) == [2])
        }
    }

    @Test(
        "if a lease is released, the delivery report to Apple is due immediately; after 8 days the report is late",
        arguments: Implementation.allCases)
    func leases(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            for id in 0..<3 { _ = try await subject.submit("100\(id)", offset: Int64(id)) }
            try await subject.endLeases()
            let first = try await subject.lease(limit: 2)
            #expect(first.count == 2)
            #expect(try await subject.lease().count == 1)
            for finish in first { try await subject.finishes.release(finish) }
            let second = try await subject.lease()
            #expect(Set(second.map(\.transactionID)) == Set(first.map(\.transactionID)))
            for finish in first { try await subject.finishes.end(finish, as: .refused) }
            try await subject.endLeases()
            #expect(try await subject.lease().count == 3)
            try await subject.age()
            try await subject.endLeases()
            let last = try await subject.lease()
            #expect(last.count == 3 && last.allSatisfy(\.isPastItsTime))
        }
    }
}
