import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import Postgres
import Testing

@Suite("Parked submissions in PostgreSQL")
struct ParkingTests {
    @Test("PostgreSQL returns a parked submission unchanged, with its retry state, and not before it is due")
    func roundTrip() async throws {
        try await withParking { database, store in
            let history = WaitingHistory(
                failures: 3, doubts: [.noPurchase: 2, .malformedReceipt: 1], firstFailureAt: Sample.noon, parkings: 4,
                tries: [Sample.appleTry, AppleTry(at: Sample.noon, answer: .trouble(.init(.timeout)))])
            let given = Sample.parking(7, .doubt, history: history, dueAfter: 3_600)
            try await store.park(given)
            #expect(try await store.leaseDue(limit: 10).isEmpty)
            try await database.run("UPDATE parked SET due_at = now()")
            let taken = try await store.leaseDue(limit: 10)
            let one = try #require(taken.first)
            #expect(taken.count == 1)
            #expect(one.id == given.position.parkedID)
            #expect(one.submission == given.submission)
            #expect(one.position == given.position)
            #expect(one.proof == given.proof)
            #expect(one.traceparent == given.traceparent)
            #expect(one.reason == .doubt)
            #expect(one.history == history)
            #expect(one.isDue)
        }
    }

    @Test("if a record is parked twice, it has one row, and the partition's bound of decided offsets covers it")
    func once() async throws {
        try await withParking { database, store in
            try await store.park(Sample.parking(7, dueAfter: 60))
            try await store.park(Sample.parking(7, .blockedRequest, dueAfter: 0))
            #expect(try await database.number("SELECT count(*) FROM parked WHERE reason = 'apple_trouble'") == 1)
            #expect(try await database.number("SELECT count(*) FROM parked_submissions") == 1)
            let ledger = database.ledger()
            #expect(try await ledger.decidedOffsets(topic: Sample.topic, partitions: [0]) == [0: 4096])
            await ledger.close()
        }
    }

    @Test("two replicas never lease the same parked submission, and a worker with an expired lease changes nothing")
    func leases() async throws {
        try await withParking { database, store in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for offset in 0..<60 {
                    group.addTask { try await store.park(Sample.parking(Int64(offset), player: "p-\(offset)")) }
                }
                try await group.waitForAll()
            }
            let other = PostgresParking(pool: LedgerDatabase.pool(database.uri))
            let taken = try await withThrowingTaskGroup(of: [LeasedSubmission].self) { group in
                for index in 0..<8 {
                    group.addTask { try await (index.isMultiple(of: 2) ? store : other).leaseDue(limit: 10) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(Set(taken.map(\.id)).count == taken.count)
            let rest = try await other.leaseDue(limit: 100)
            #expect(Set((taken + rest).map(\.id)).count == 60)
            #expect(try await store.leaseDue(limit: 100).isEmpty)
            try await database.run("UPDATE parked SET leased_until = now() - interval '1 second'")
            let again = try await other.leaseDue(limit: 100)
            #expect(again.count == 60)
            // A worker whose lease expired can no longer delete or reschedule the row.
            for old in taken {
                try await store.delete(old)
                try await store.reschedule(
                    old, reason: .doubt, detail: nil, history: old.history, dueAfterSeconds: 0)
            }
            #expect(try await database.number("SELECT count(*) FROM parked WHERE leased_until > now()") == 60)
            await other.close()
        }
    }

    @Test("a parked submission stays due if a worker only ends its lease, waits if rescheduled, and is gone if deleted")
    func released() async throws {
        try await withParking { database, store in
            for offset in 1...3 { try await store.park(Sample.parking(Int64(offset))) }
            let taken = try await store.leaseDue(limit: 10)
            #expect(taken.map(\.position.offset) == [1, 2, 3])
            let history = WaitingHistory(
                failures: 9, doubts: [.noPurchase: 1], firstFailureAt: Sample.noon, parkings: 2)
            try await store.reschedule(
                taken[0], reason: .doubt, detail: "no_purchase", history: history, dueAfterSeconds: 3_600)
            try await store.endLease(of: taken[1])
            try await store.delete(taken[2])
            let again = try await store.leaseDue(limit: 10)
            #expect(again.map(\.position.offset) == [2])
            #expect(again.first?.history == taken[1].history)
            try await database.run("UPDATE parked SET due_at = now() WHERE source_offset = 1")
            let late = try #require(try await store.leaseDue(limit: 10).first)
            #expect(late.history == history)
            #expect(late.reason == .doubt)
            #expect(try await database.number("SELECT count(*) FROM parked_submissions") == 2)
        }
    }

    @Test("if two parked submissions share a proof and one is due, PostgreSQL leases both, and marks one as not due")
    func alike() async throws {
        try await withParking { _, store in
            try await store.park(Sample.parking(1, proof: "same", dueAfter: 3_600))
            try await store.park(Sample.parking(2, player: "player-2", proof: "same", dueAfter: 0))
            try await store.park(Sample.parking(3, player: "player-3", dueAfter: 3_600))
            let taken = try await store.leaseDue(limit: 10)
            let isDue = Dictionary(uniqueKeysWithValues: taken.map { ($0.position.offset, $0.isDue) })
            #expect(isDue == [1: false, 2: true])
        }
    }

    @Test("a decision deletes the parked row, even if the submission was decided before")
    func decided() async throws {
        try await withParking { database, store in
            let ledger = database.ledger()
            try await store.park(Sample.parking(1))
            try await store.park(Sample.parking(2))
            let taken = try await store.leaseDue(limit: 10)
            let first = decision(taken[0], .each([Sample.judged(Sample.purchase("1000"))]))
            let outcome = try await ledger.record(first)
            #expect(outcome.granted.map(\.subject) == ["1000"])
            #expect(try await database.number("SELECT count(*) FROM parked WHERE source_offset = 1") == 0)
            // The operator's rejection is stored first, so a later grant gets the rejection as its answer.
            let rejected = try await ledger.record(decision(taken[1], .whole(.refusedByOperator, [])))
            #expect(rejected.reason == .refusedByOperator)
            try await store.park(Sample.parking(2))
            let late = try await ledger.record(decision(taken[1], .each([Sample.judged(Sample.purchase("2000"))])))
            #expect(late == rejected)
            #expect(try await database.number("SELECT count(*) FROM parked") == 0)
            #expect(try await database.number("SELECT count(*) FROM grants") == 1)
            await ledger.close()
        }
    }

    @Test("if a parked record is redelivered, the ledger recalls it as parked, or once it is decided, as answered")
    func recalled() async throws {
        try await withParking { database, store in
            let ledger = database.ledger()
            let given = Sample.parking(1)
            try await store.park(given)
            func recall(isParked: Bool, redelivered: Bool = true) async throws -> Recollection {
                try await ledger.recall(
                    RecallQuery(
                        position: given.position, proof: given.proof, mayBeRedelivered: redelivered,
                        isParked: isParked))
            }
            #expect(try await recall(isParked: false) == .parked)
            #expect(try await recall(isParked: false, redelivered: false) == .nothing)
            #expect(try await recall(isParked: true) == .nothing)
            let taken = try await store.leaseDue(limit: 1)
            let answer = try await ledger.record(decision(taken[0], .whole(.accountNotFound, [])))
            try await store.park(given)
            #expect(try await recall(isParked: false) == .answered(answer.events))
            #expect(try await recall(isParked: true) == .answered(answer.events))
            await ledger.close()
        }
    }

    @Test("if PostgreSQL refuses a submission's data, it waits for an operator, and no worker can delete or lease it")
    func refused() async throws {
        try await withParking { database, store in
            let ledger = database.ledger()
            try await store.park(Sample.parking(1))
            let taken = try await store.leaseDue(limit: 1)
            let outcome = try await ledger.record(
                decision(taken[0], .each([Sample.judged(Sample.purchase("1000", quantity: 0))])))
            #expect(outcome == .parked)
            try await store.delete(taken[0])
            let kept = """
                SELECT count(*) FROM parked
                WHERE reason = 'database_refused' AND due_at IS NULL AND sql_state LIKE '23%'
                """
            #expect(try await database.number(kept) == 1)
            #expect(try await store.leaseDue(limit: 1).isEmpty)
            await ledger.close()
        }
    }

    @Test("if PostgreSQL refuses one submission's data, the rest of its batch is parked as usual")
    func badRow() async throws {
        try await withParking { database, store in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for offset in 0..<20 {
                    let given = Sample.parking(Int64(offset), player: offset == 11 ? "p\u{0}" : "p-\(offset)")
                    group.addTask { try await store.park(given) }
                }
                try await group.waitForAll()
            }
            #expect(try await database.number("SELECT count(*) FROM parked") == 20)
            #expect(try await database.number("SELECT count(*) FROM parked WHERE due_at IS NULL") == 1)
            // After an operator's retry, the unreadable row is set aside again and the other rows are leased.
            let operatorStore = ParkedAdministration(pool: database.pool)
            #expect(try await operatorStore.retry(ParkedFilter(reason: .databaseRefused)) == 1)
            #expect(try await store.leaseDue(limit: 100).count == 19)
            #expect(try await database.number("SELECT count(*) FROM parked WHERE due_at IS NULL") == 1)
        }
    }

    @Test("if an app's credentials work again, only the submissions that were parked for these credentials become due")
    func wakes() async throws {
        try await withParking { database, store in
            try await store.park(Sample.parking(1, .blockedSharedSecret, dueAfter: 3_600))
            try await store.park(Sample.parking(2, .blockedNoServerAPI, dueAfter: 3_600))
            try await store.park(Sample.parking(3, .doubt, dueAfter: 3_600))
            try await store.retryBlocked(Sample.bundle, for: ParkingReason.blockagesOfReceipts)
            let soon = "SELECT sum(source_offset)::bigint FROM parked WHERE due_at < now() + interval '1 minute'"
            #expect(try await database.number(soon) == 1)
            try await store.retryBlocked(Sample.bundle, for: ParkingReason.blockagesOfTransactions)
            #expect(try await database.number(soon) == 1 + 2)
        }
    }

    @Test("an operator lists, counts, retries and leases parked submissions by filter")
    func operators() async throws {
        try await withParking { database, store in
            try await store.park(Sample.parking(1, .blockedRequest, dueAfter: 3_600))
            try await store.park(Sample.parking(2, .doubt, dueAfter: 3_600))
            let operatorStore = ParkedAdministration(pool: database.pool)
            #expect(try await operatorStore.list(ParkedFilter(), limit: 10).map(\.submissionID) == ["s-1", "s-2"])
            let blocked = ParkedFilter(bundleID: Sample.bundle.text, reason: .blockedRequest)
            let row = try #require(try await operatorStore.list(blocked, limit: 10).first)
            #expect(row.reason == "blocked_request" && row.detail == "timeout" && row.failures == 1 && !row.isLeased)
            #expect(try await operatorStore.retry(ParkedFilter(id: "s-2")) == 1)
            #expect(try await store.leaseDue(limit: 10).map(\.position.offset) == [2])
            #expect(try await operatorStore.retry(ParkedFilter()) == 1)
            let count = try await operatorStore.count(ParkedFilter())
            #expect(count.all == 2 && count.leased == 1)
            let leased = try await operatorStore.lease(ParkedFilter(), limit: 10)
            #expect(leased.submissions.map(\.position.offset) == [1])
            #expect(try await operatorStore.lease(ParkedFilter(), limit: 10).submissions.isEmpty)
        }
    }

    @Test("a query for due rows among 20,000 parked rows uses an index, and only the due submission is leased")
    func plan() async throws {
        try await withParking { database, store in
            try await store.park(Sample.parking(1))
            try await database.run(
                """
                INSERT INTO parked (id, source_topic, source_partition, source_offset, source_timestamp, submission_key,
                    submission_id, player_id, bundle_id, proof, reason, due_at)
                SELECT gen_random_uuid(), 't', 0, n, now(), gen_random_uuid(), 's' || n, 'p' || n, 'b',
                    sha256(n::text::bytea), 'doubt', now() + interval '1 hour' + n * interval '1 second'
                FROM generate_series(1, 20000) AS n;
                ANALYZE parked;
                """)
            let plan = try await database.pool.run { session in
                let rows = try session.execute(
                    PostgresStatement(
                        """
                        EXPLAIN SELECT id FROM parked
                        WHERE due_at <= now() AND (leased_until IS NULL OR leased_until < now())
                        ORDER BY due_at LIMIT 20 FOR UPDATE SKIP LOCKED
                        """))
                return (0..<rows.count).compactMap { rows.text($0, 0) }.joined(separator: "\n")
            }
            #expect(plan.contains("parked_due") && !plan.contains("Seq Scan"), "\(plan)")
            #expect(try await store.leaseDue(limit: 20).count == 1)
        }
    }

    private func decision(_ leased: LeasedSubmission, _ verdict: Verdict) -> PendingDecision {
        PendingDecision(
            submission: leased.submission, position: leased.position, proof: leased.proof, verdict: verdict,
            environment: .production, evidence: nil, decidedAt: Sample.noon, catalogVersion: 1,
            traceparent: leased.traceparent, parkedID: leased.id)
    }
}
