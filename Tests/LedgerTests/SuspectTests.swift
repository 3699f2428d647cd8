import BackOffice
import Fulfillment
import Ledger
import Postgres
import Testing

@Suite("Parked submissions that kill their workers")
struct SuspectTests {
    private func with(_ body: (LedgerDatabase, PostgresParking) async throws -> Void) async throws {
        let database = try await LedgerDatabase()
        let store = PostgresParking(pool: LedgerDatabase.pool(database.uri))
        try await body(database, store)
        await store.close()
    }

    private func park(_ offsets: ClosedRange<Int64>, in store: PostgresParking) async throws {
        for offset in offsets {
            try await store.park(
                ParkingSubmission(
                    submission: Sample.submission("s-\(offset)", player: "player-\(offset)"),
                    position: Sample.position(offset), proof: Sample.digest("proof \(offset)"), traceparent: nil,
                    reason: .appleTrouble, detail: "timeout", history: WaitingHistory(failures: 1),
                    dueAfterSeconds: 0))
        }
    }

    /// Lets all leases expire, as if their worker had died.
    private func die(_ database: LedgerDatabase) async throws {
        try await database.run(
            "UPDATE parked SET leased_until = now() - interval '1 second' WHERE leased_until IS NOT NULL")
    }

    private func takeIsolated(_ store: PostgresParking) async throws -> LeasedSubmission? {
        if case .isolated(let leased) = try await store.leaseSuspect() { leased } else { nil }
    }

    @Test("only the parked submission that kills three workers in isolation is set aside; it then gets one last try")
    func poison() async throws {
        try await with { database, store in
            try await park(1...5, in: store)
            for _ in 0..<3 {
                #expect(try await store.hasSuspect() == false)
                #expect(try await store.leaseDue(limit: 10).count == 5)
                try await die(database)
            }
            #expect(try await store.leaseDue(limit: 10).isEmpty)
            #expect(try await store.hasSuspect())
            var deaths = 0
            var ended: [Int64] = []
            var setAside: SetAsideSubmission?
            while setAside == nil || ended.count < 4 {
                switch try await store.leaseSuspect() {
                case .none:
                    Issue.record("\(ended) ended, and nothing is left")
                    return
                case .isolated(let leased) where leased.position.offset == 3:
                    deaths += 1
                    try await die(database)
                case .isolated(let leased):
                    ended.append(leased.position.offset)
                    if leased.position.offset == 4 {
                        try await store.reschedule(
                            leased, reason: .doubt, detail: nil, history: leased.history, dueAfterSeconds: 3_600)
                    } else {
                        try await store.delete(leased)
                    }
                case .setAside(let submission): setAside = submission
                }
            }
            #expect(deaths == 3)
            #expect(ended.sorted() == [1, 2, 4, 5])
            #expect(
                setAside
                    == SetAsideSubmission(
                        submissionID: "s-3", bundleID: "com.example.game", deaths: 3, isTriedAgain: true))
            // The last try, an hour later, kills the worker too.
            #expect(try await store.hasSuspect() == false)
            try await database.run("UPDATE parked SET due_at = due_at - interval '1 hour' WHERE source_offset = 3")
            #expect(try await takeIsolated(store)?.position.offset == 3)
            try await die(database)
            #expect(try await takeIsolated(store) == nil)
            // The submission stays parked, and no worker leases it.
            #expect(try await store.hasSuspect() == false)
            #expect(try await store.leaseDue(limit: 10).isEmpty)
            let listed = try await ParkedAdministration(pool: database.pool).list(
                ParkedFilter(reason: .crashed), limit: 10)
            #expect(listed.map(\.submissionID) == ["s-3"])
            #expect(listed.first?.dueAt == nil && listed.first?.isLeased == false)
            #expect(listed.first?.detail == "4 workers died while they tried this submission in isolation")
            #expect(try await database.number("SELECT takes + deaths_alone FROM parked WHERE source_offset = 4") == 0)
            // An operator's retry makes the submission due again, without the counted deaths.
            #expect(try await ParkedAdministration(pool: database.pool).retry(ParkedFilter(id: "s-3")) == 1)
            #expect(try await store.leaseDue(limit: 10).map(\.position.offset) == [3])
        }
    }

    @Test("a parked submission is not set aside for leases that its worker survives, or for two deaths in isolation")
    func innocent() async throws {
        try await with { database, store in
            try await park(1...1, in: store)
            for _ in 0..<10 {
                let taken = try #require(try await store.leaseDue(limit: 1).first)
                try await store.endLease(of: taken)
            }
            for _ in 0..<3 {
                _ = try await store.leaseDue(limit: 1)
                try await die(database)
            }
            for _ in 0..<5 {
                let released = try #require(try await takeIsolated(store))
                try await store.endLease(of: released)
                let forgiven = try #require(try await takeIsolated(store))
                try await store.clearSuspicion(of: forgiven)
                try await die(database)
            }
            // Two deaths do not set the submission aside, and the end of the next lease clears the count.
            for _ in 0..<2 {
                #expect(try await takeIsolated(store) != nil)
                try await die(database)
            }
            let last = try #require(try await takeIsolated(store))
            try await store.reschedule(last, reason: .doubt, detail: nil, history: last.history, dueAfterSeconds: 0)
            #expect(try await store.hasSuspect() == false)
            #expect(try await store.leaseDue(limit: 1).count == 1)
        }
    }

    @Test("one worker at a time leases a suspected submission, and never with other submissions of the same proof")
    func alike() async throws {
        try await with { database, store in
            try await park(1...2, in: store)
            try await database.run("UPDATE parked SET takes = 3 WHERE source_offset = 1")
            try await database.run("UPDATE parked SET proof = (SELECT proof FROM parked WHERE source_offset = 1)")
            #expect(try await store.leaseDue(limit: 10).map(\.position.offset) == [2])
            #expect(try await takeIsolated(store)?.position.offset == 1)
            #expect(try await takeIsolated(store) == nil)
        }
    }
}
