import Fulfillment
import Postgres
import TestSupport
import Testing

@testable import Ledger

@Suite("Outboxes in memory, observed in memory, and in PostgreSQL")
struct UnpublishedEventsConformance {
    enum Kind: CaseIterable {
        case inMemory
        case observed
        case postgres
    }

    struct Subject {
        let ledger: any PurchaseLedger
        let outbox: any UnpublishedEvents
        /// Ages the events until they count as orphans.
        let age: () async throws -> Void
        /// Hands events over to any replica, as an operator's command does.
        let handOver: ([NameBasedUUID]) async throws -> Void

        func grant(_ ids: Range<Int>, partition: Int32 = 0) async throws -> [OutcomeEvent] {
            var events: [OutcomeEvent] = []
            for id in ids {
                let purchases = [Sample.judged(Sample.purchase("\(id)"))]
                events += try await ledger.record(
                    Sample.decision(purchases, offset: Int64(id), partition: partition)
                ).events
            }
            return events
        }
    }

    private func with(_ kind: Kind, _ body: (Subject) async throws -> Void) async throws {
        switch kind {
        case .inMemory:
            let ledger = InMemoryLedger()
            try await body(Subject(ledger: ledger, outbox: ledger, age: ledger.ageOutbox, handOver: ledger.handOver))
        case .observed:
            let ledger = ObservedLedger()
            try await body(
                Subject(
                    ledger: ledger, outbox: ledger, age: ledger.database.ageOutbox, handOver: ledger.database.handOver))
        case .postgres:
            let database = try await LedgerDatabase()
            let ledger = database.ledger()
            let outbox = PostgresOutbox(
                ledger: ledger, sweeper: OutboxSweeper(pool: database.pool), orphanSeconds: 600)
            try await body(
                Subject(
                    ledger: ledger, outbox: outbox,
                    age: { try await database.run("UPDATE outbox SET created_at = created_at - interval '1 hour'") },
                    handOver: { events in try await database.pool.run { try HandOverEvents.run(events, in: $0) } }))
            await ledger.close()
        }
    }

    @Test("the outbox returns a partition's unpublished events in order and unchanged", arguments: Kind.allCases)
    func partition(kind: Kind) async throws {
        try await with(kind) { subject in
            let events = try await subject.grant(0..<5)
            _ = try await subject.grant(5..<8, partition: 1)
            let owed = try await subject.outbox.unpublished(topic: Sample.topic, partition: 0, limit: 100)
            #expect(owed.map(\.event) == events)
            let some = try await subject.outbox.unpublished(topic: Sample.topic, partition: 0, limit: 2)
            #expect(some.map(\.event) == Array(events.prefix(2)))
            #expect(try await subject.outbox.unpublished(topic: "another", partition: 0, limit: 100).isEmpty)
        }
    }

    @Test("no replica leases fresh unpublished events as orphans", arguments: Kind.allCases)
    func fresh(kind: Kind) async throws {
        try await with(kind) { subject in
            _ = try await subject.grant(0..<5)
            #expect(try await subject.outbox.orphans(limit: 100).isEmpty)
        }
    }

    @Test("unpublished events that are old are leased as orphans, each by one replica", arguments: Kind.allCases)
    func orphans(kind: Kind) async throws {
        try await with(kind) { subject in
            let events = try await subject.grant(0..<5)
            try await subject.age()
            let first = try await subject.outbox.orphans(limit: 3)
            #expect(first.map(\.event) == Array(events.prefix(3)))
            #expect(try await subject.outbox.orphans(limit: 100).map(\.event) == Array(events.suffix(2)))
            #expect(try await subject.outbox.orphans(limit: 100).isEmpty)
            // The partition's owner still reads all five events.
            #expect(try await subject.outbox.unpublished(topic: Sample.topic, partition: 0, limit: 100).count == 5)
        }
    }

    @Test("any replica may immediately publish an operator's event, and no other fresh event", arguments: Kind.allCases)
    func handedOver(kind: Kind) async throws {
        try await with(kind) { subject in
            let events = try await subject.grant(0..<5)
            #expect(try await subject.outbox.handedOver(limit: 100).isEmpty)
            try await subject.handOver(events.suffix(3).map(\.eventID))
            #expect(try await subject.outbox.handedOver(limit: 2).map(\.event) == Array(events[2...3]))
            #expect(try await subject.outbox.handedOver(limit: 100).map(\.event) == Array(events.suffix(1)))
            // The worker that leased the events publishes them. They stay leased, although the operator hands them over
            // again.
            try await subject.handOver(events.suffix(3).map(\.eventID))
            #expect(try await subject.outbox.handedOver(limit: 100).isEmpty)
        }
    }

    @Test(
        "a partition's stored highest offset covers all decided offsets, and is nil before the first decision",
        arguments: Kind.allCases)
    func highest(kind: Kind) async throws {
        try await with(kind) { subject in
            #expect(try await subject.outbox.highestDecidedOffset(topic: Sample.topic, partition: 0) == nil)
            _ = try await subject.grant(0..<5)
            let highest = try await subject.outbox.highestDecidedOffset(topic: Sample.topic, partition: 0)
            #expect(highest ?? 0 >= 4)
            #expect(try await subject.outbox.highestDecidedOffset(topic: Sample.topic, partition: 1) == nil)
        }
    }
}
