import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import Testing

@Suite("The outbox of unpublished events")
struct OutboxTests {
    private func granted(_ ids: Range<Int>, in ledger: PostgresLedger) async throws -> [OutcomeEvent] {
        let decisions = ids.map { Sample.decision([Sample.judged(Sample.purchase("\($0)"))], offset: Int64($0)) }
        return try await recordAll(decisions, in: ledger).flatMap(\.events)
    }

    @Test("the ledger deletes the outbox rows of acknowledged events with the next batch, or when the ledger closes")
    func acknowledged() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let events = try await granted(0..<20, in: ledger)
        #expect(try await database.number("SELECT count(*) FROM outbox") == 20)
        ledger.published(events[..<10].map(\.eventID))
        _ = try await granted(20..<21, in: ledger)
        #expect(try await database.number("SELECT count(*) FROM outbox") == 11)
        ledger.published(events[10...].map(\.eventID))
        await ledger.close()
        #expect(try await database.number("SELECT count(*) FROM outbox") == 1)
    }

    @Test(
        "if no batch follows, the ledger deletes the outbox rows of acknowledged events after the acknowledgement delay"
    )
    func flushed() async throws {
        let database = try await LedgerDatabase()
        var limits = PostgresLedger.Limits()
        limits.acknowledgementDelay = .milliseconds(1)
        let ledger = PostgresLedger(pool: LedgerDatabase.pool(database.uri), limits: limits)
        let events = try await granted(0..<5, in: ledger)
        ledger.published(events.map(\.eventID))
        while try await LedgerCounts.read(from: database.pool).outboxPending > 0 {}
        await ledger.close()
    }

    @Test(
        "concurrent sweeps of the outbox never lease the same event; a sweep can lease it again after the lease expires"
    )
    func leases() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        let events = try await granted(0..<60, in: ledger)
        let sweeper = OutboxSweeper(pool: LedgerDatabase.pool(database.uri, size: 4))
        #expect(try await sweeper.leaseOrphans(olderThanSeconds: 3600, limit: 100, leaseSeconds: 60).isEmpty)
        let taken = try await withThrowingTaskGroup(of: [OrphanEvent].self) { group in
            for _ in 0..<8 {
                group.addTask { try await sweeper.leaseOrphans(olderThanSeconds: 0, limit: 10, leaseSeconds: 60) }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(taken.map(\.eventID)).count == taken.count)
        let rest = try await sweeper.leaseOrphans(olderThanSeconds: 0, limit: 100, leaseSeconds: 60)
        #expect(Set((taken + rest).map(\.eventID)) == Set(events.map(\.eventID)))
        #expect(Set((taken + rest).map(\.event.value)) == Set(events.map(\.value)))
        try await database.run("UPDATE outbox SET leased_until = now() - interval '1 second'")
        #expect(try await sweeper.leaseOrphans(olderThanSeconds: 0, limit: 100, leaseSeconds: 60).count == 60)
        await ledger.close()
    }

    @Test("any worker can immediately lease the events of operators' decisions on grants, holds and parked submissions")
    func operators() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        _ = try await granted(1..<2, in: ledger)
        _ = try await ledger.record(
            Sample.decision([Sample.judged(Sample.purchase("2"), nil, .hold(.unknownProduct))], offset: 2))
        let parking = PostgresParking(pool: LedgerDatabase.pool(database.uri))
        for (offset, name) in [(3, "waits"), (4, "waits too")] {
            try await parking.park(
                ParkingSubmission(
                    submission: Sample.submission(name, player: name), position: Sample.position(Int64(offset)),
                    proof: Sample.digest(name), traceparent: nil, reason: .appleTrouble, history: WaitingHistory(),
                    dueAfterSeconds: 60))
        }
        let sweeper = OutboxSweeper(pool: database.pool)
        func reasons() async throws -> [Reason?] {
            try await sweeper.leaseHandedOver(limit: 10, leaseSeconds: 60).map(\.event.reason)
        }
        #expect(try await reasons() == [])
        let revocation = GrantDecision(.revoke, "1", by: "ann", note: nil, at: Sample.noon)
        _ = try await GrantAdministration(pool: database.pool).apply(revocation, catalog: Catalog(version: 1, apps: []))
        #expect(try await reasons() == [.revokedByOperator])
        _ = try await HoldAdministration(pool: database.pool).reject(HoldFilter(), by: "ann", at: Sample.noon)
        #expect(try await reasons() == [.refusedByOperator])
        _ = try await ParkedRejection(pool: database.pool, by: "ann").run(ParkedFilter(id: "waits"))
        #expect(try await reasons() == [.refusedByOperator])
        try await ParkedRejection(pool: database.pool, by: "ann").run(of: "waits too")
        #expect(try await reasons() == [.refusedByOperator])
        await parking.close()
        await ledger.close()
    }

    @Test("a Kafka partition's new owner leases all unpublished events in order, even events that a sweep leased")
    func newOwner() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger()
        var expected: [OutcomeEvent] = []
        for offset in 0..<5 {
            let purchases = (0..<3).map { Sample.judged(Sample.purchase("\(offset)-\($0)")) }
            let held = Sample.judged(Sample.purchase("\(offset)-h"), nil, .hold(.unknownProduct))
            expected += try await ledger.record(Sample.decision(purchases + [held], offset: Int64(offset))).events
        }
        _ = try await ledger.record(Sample.decision(.whole(.foreignApp, []), offset: 1, partition: 1))
        let sweeper = OutboxSweeper(pool: database.pool)
        _ = try await sweeper.leaseOrphans(olderThanSeconds: 0, limit: 3, leaseSeconds: 60)
        let taken = try await sweeper.leaseUnpublished(topic: Sample.topic, partition: 0, limit: 100)
        #expect(taken.map(\.event) == expected)
        #expect(taken.allSatisfy { $0.recordKey == "player-1" })
        try await sweeper.deletePublished(taken.map(\.eventID))
        #expect(try await sweeper.leaseUnpublished(topic: Sample.topic, partition: 0, limit: 100).isEmpty)
        await ledger.close()
    }

    @Test("a partition's stored bound exceeds all decided offsets, and is rewritten once per 4,096 offsets")
    func decidedOffsets() async throws {
        let database = try await LedgerDatabase()
        let ledger = database.ledger(writers: 2)
        let decisions = (0..<60).map {
            Sample.decision(.whole(.foreignApp, []), offset: Int64($0), partition: Int32($0 % 3))
        }
        _ = try await recordAll(decisions.shuffled(), in: ledger)
        let offsets = try await ledger.decidedOffsets(topic: Sample.topic, partitions: [0, 1, 2, 3])
        #expect(offsets == [0: 4096, 1: 4096, 2: 4096])
        await ledger.close()
        // With one writer, all three rows belong to writer 0.
        let single = database.ledger(writers: 1)
        for partition in Int32(0)..<3 {
            _ = try await single.record(Sample.decision(.whole(.foreignApp, []), offset: 60, partition: partition))
        }
        // An update moves a row to another place in the table. Equal places therefore prove that no row was updated.
        let places = """
            SELECT sum((ctid::text::point)[0] * 1000 + (ctid::text::point)[1])::int8
            FROM partition_progress WHERE writer = 0
            """
        let before = try await database.number(places)
        for offset in 61..<90 {
            _ = try await single.record(Sample.decision(.whole(.foreignApp, []), offset: Int64(offset), partition: 0))
        }
        #expect(try await database.number(places) == before)
        _ = try await single.record(Sample.decision(.whole(.foreignApp, []), offset: 4097, partition: 0))
        #expect(try await single.decidedOffsets(topic: Sample.topic, partitions: [0]) == [0: 8192])
        await single.close()
    }
}
