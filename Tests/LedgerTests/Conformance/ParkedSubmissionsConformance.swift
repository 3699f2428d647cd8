import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

@Suite("Stores of parked submissions in memory and in PostgreSQL")
struct ParkedSubmissionsConformance {
    struct Subject {
        let store: any ParkedSubmissions
        /// Ends all leases, as if all workers had died long ago.
        let endLeases: () async throws -> Void
        /// Makes all rows due, except those that wait for an operator.
        let makeDue: () async throws -> Void

        func dueOffsets(limit: Int = 10) async throws -> [Int64] {
            try await store.leaseDue(limit: limit).map(\.position.offset)
        }

        func takeIsolated() async throws -> LeasedSubmission? {
            if case .isolated(let leased) = try await store.leaseSuspect() { leased } else { nil }
        }
    }

    private func with(_ implementation: Implementation, _ body: (Subject) async throws -> Void) async throws {
        switch implementation {
        case .inMemory:
            let store = InMemoryParking()
            try await body(Subject(store: store, endLeases: store.endLeases, makeDue: store.makeDue))
        case .postgres:
            let database = try await LedgerDatabase()
            let store = PostgresParking(pool: LedgerDatabase.pool(database.uri))
            try await body(
                Subject(
                    store: store,
                    endLeases: {
                        try await database.run(
                            "UPDATE parked SET leased_until = now() - interval '1 second' WHERE leased_until IS NOT NULL"
                        )
                    },
                    makeDue: { try await database.run("UPDATE parked SET due_at = now() WHERE due_at IS NOT NULL") }))
            await store.close()
        }
    }

    private func submission(
        _ offset: Int64, player: String? = nil, proof: String? = nil, reason: ParkingReason = .appleTrouble,
        dueAfter seconds: Double = 0
    ) -> ParkingSubmission {
        ParkingSubmission(
            submission: Sample.submission("s-\(offset)", player: player ?? "player-\(offset)"),
            position: Sample.position(offset), proof: Sample.digest(proof ?? "proof \(offset)"),
            traceparent: "00-aa-bb-01", reason: reason, detail: "timeout",
            history: WaitingHistory(failures: 1, doubts: [.noPurchase: 2], firstFailureAt: Sample.noon, parkings: 3),
            dueAfterSeconds: seconds)
    }

    @Test(
        "a worker leases a parked submission unchanged, and not before it is due",
        arguments: Implementation.allCases)
    func comesBack(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            let given = submission(1)
            #expect(try await subject.store.park(given).value == .parked)
            #expect(try await subject.store.park(submission(2, dueAfter: 3_600)).value == .parked)
            let taken = try await subject.store.leaseDue(limit: 10)
            let one = try #require(taken.first)
            #expect(taken.count == 1 && one.isDue)
            #expect(one.id == given.position.parkedID && one.position == given.position)
            #expect(one.submission == given.submission && one.proof == given.proof)
            #expect(one.traceparent == given.traceparent && one.reason == given.reason)
            #expect(one.history == given.history)
            #expect(try await subject.dueOffsets().isEmpty)
        }
    }

    @Test("if a record is parked a second time, it keeps its first due time", arguments: Implementation.allCases)
    func once(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.store.park(submission(1, dueAfter: 3_600))
            #expect(try await subject.store.park(submission(1)).value == .parked)
            #expect(try await subject.dueOffsets().isEmpty)
        }
    }

    @Test(
        "if parked submissions share a proof and one is due, a worker leases all of them, and sees which are not due",
        arguments: Implementation.allCases)
    func alike(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.store.park(submission(1, proof: "same", dueAfter: 3_600))
            try await subject.store.park(submission(2, proof: "same"))
            try await subject.store.park(submission(3, dueAfter: 3_600))
            let taken = try await subject.store.leaseDue(limit: 10)
            #expect(
                Dictionary(uniqueKeysWithValues: taken.map { ($0.position.offset, $0.isDue) }) == [1: false, 2: true])
        }
    }

    @Test(
        "a rescheduled parked submission is leased with its new reason, a released one unchanged, a deleted one never",
        arguments: Implementation.allCases)
    func endings(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            for offset in Int64(1)...3 { try await subject.store.park(submission(offset)) }
            let taken = try await subject.store.leaseDue(limit: 10).sorted { $0.position.offset < $1.position.offset }
            #expect(taken.map(\.position.offset) == [1, 2, 3])
            var history = WaitingHistory(failures: 9, doubts: [.noPurchase: 1], firstFailureAt: Sample.noon)
            let told = StorePurchase(
                transactionID: "1001", originalTransactionID: "1001", productID: "gold",
                purchasedAt: Sample.noon, appAccountToken: "4f7c2b8e-5c1d-4c3e-9a37-0d5f0f4e9b11")
            history.lookUps = RememberedLookUps(settled: ["1000"], told: [told], since: Sample.noon)
            try await subject.store.reschedule(
                taken[0], reason: .doubt, detail: nil, history: history, dueAfterSeconds: 0)
            try await subject.store.endLease(of: taken[1])
            try await subject.store.delete(taken[2])
            let again = try await subject.store.leaseDue(limit: 10).sorted { $0.position.offset < $1.position.offset }
            #expect(again.map(\.position.offset) == [1, 2])
            #expect(again.map(\.reason) == [.doubt, .appleTrouble])
            #expect(again.map(\.history) == [history, taken[1].history])
        }
    }

    @Test(
        "if a parked submission's lease expires, another worker leases it; the earlier worker's calls change nothing",
        arguments: Implementation.allCases)
    func leases(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.store.park(submission(1))
            let old = try #require(try await subject.store.leaseDue(limit: 1).first)
            try await subject.endLeases()
            let new = try #require(try await subject.store.leaseDue(limit: 1).first)
            try await subject.store.delete(old)
            try await subject.store.endLease(of: old)
            try await subject.store.reschedule(
                old, reason: .doubt, detail: nil, history: old.history, dueAfterSeconds: 0)
            #expect(try await subject.dueOffsets().isEmpty)
            try await subject.store.endLease(of: new)
            #expect(try await subject.dueOffsets() == [1])
        }
    }

    @Test(
        "a player at the limit of parked proofs can park only an already parked proof; other players are not limited",
        arguments: Implementation.allCases)
    func share(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            let count = Int64(ParkingPolicy.parkedOfPlayer)
            for offset in 1...count { try await subject.store.park(submission(offset, player: "hog")) }
            #expect(try await subject.store.park(submission(count + 1, player: "hog")).value == .tooManyWaiting)
            let known = submission(count + 2, player: "hog", proof: "proof 1")
            #expect(try await subject.store.park(known).value == .parked)
            #expect(try await subject.store.park(submission(count + 3)).value == .parked)
        }
    }

    private let lowest = NameBasedUUID(high: 0, low: 0)

    @Test(
        "the worker makes due only submissions parked for apple_trouble, in portions, for one app or for all apps",
        arguments: Implementation.allCases)
    func woken(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            for offset in Int64(1)...5 { try await subject.store.park(submission(offset, dueAfter: 3_600)) }
            try await subject.store.park(submission(6, reason: .doubt, dueAfter: 3_600))
            #expect(try await subject.store.wakeTroubled(9, of: ["com.example.other"], after: lowest) == nil)
            #expect(try await subject.dueOffsets().isEmpty)
            let place = try await subject.store.wakeTroubled(2, of: [Sample.bundle], after: lowest)
            let first = try await subject.dueOffsets()
            #expect(first.count == 2 && place != nil)
            #expect(try await subject.store.wakeTroubled(9, of: nil, after: place) == nil)
            let others = try await subject.dueOffsets()
            #expect(Set(first + others) == [1, 2, 3, 4, 5])
            // `after` is nil, so the store may begin at any row.
            _ = try await subject.store.wakeTroubled(9, of: nil, after: nil)
            #expect(try await subject.dueOffsets().isEmpty)
        }
    }

    @Test(
        "a parked submission is isolated after three expired leases, and set aside after three deaths of workers",
        arguments: Implementation.allCases)
    func suspects(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.store.park(submission(1))
            for _ in 0..<3 {
                #expect(try await subject.store.hasSuspect() == false)
                #expect(try await subject.dueOffsets() == [1])
                try await subject.endLeases()
            }
            #expect(try await subject.dueOffsets().isEmpty)
            #expect(try await subject.store.hasSuspect())
            // A worker may return a submission, or clear the suspicion while the submission waits. No death then counts
            // against the submission.
            let released = try #require(try await subject.takeIsolated())
            try await subject.store.endLease(of: released)
            let forgiven = try #require(try await subject.takeIsolated())
            try await subject.store.clearSuspicion(of: forgiven)
            try await subject.endLeases()
            for _ in 0..<3 {
                let isolated = try #require(try await subject.takeIsolated())
                try await subject.store.clearSuspicion(of: isolated)
                try await subject.store.accuse(isolated)
                try await subject.endLeases()
            }
            guard case .setAside(let submission) = try await subject.store.leaseSuspect() else {
                Issue.record("it is not set aside")
                return
            }
            #expect(submission == setAside(deaths: 3, isTriedAgain: true))
            #expect(try await subject.store.hasSuspect() == false)
            #expect(try await subject.dueOffsets().isEmpty)
            try await killLastTries(of: subject)
        }
    }

    @Test(
        "a submission parked for crashes is tried once more in isolation, and another crash leaves it to an operator",
        arguments: Implementation.allCases)
    func lastTry(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.store.park(submission(1, reason: .crashed, dueAfter: ParkingPolicy.lastTrySeconds))
            #expect(try await subject.store.hasSuspect() == false)
            try await killLastTries(of: subject)
        }
    }

    @Test(
        "if the last try of a submission parked for crashes does not crash, the submission is no longer suspected",
        arguments: Implementation.allCases)
    func lastTryEnds(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.store.park(submission(1, reason: .crashed))
            let last = try #require(try await subject.takeIsolated())
            #expect(last.reason == .crashed)
            try await subject.store.reschedule(
                last, reason: .appleTrouble, detail: nil, history: last.history, dueAfterSeconds: 0)
            #expect(try await subject.store.hasSuspect() == false)
            #expect(try await subject.dueOffsets() == [1])
        }
    }

    private func setAside(deaths: Int, isTriedAgain: Bool) -> SetAsideSubmission {
        SetAsideSubmission(
            submissionID: "s-1", bundleID: Sample.bundle.text, deaths: deaths, isTriedAgain: isTriedAgain)
    }

    /// Kills the worker during the last tries. Three deaths while the submission waits do not end the tries. One death
    /// during a try does.
    private func killLastTries(of subject: Subject) async throws {
        try await subject.makeDue()
        for _ in 0..<3 {
            #expect(try await subject.dueOffsets().isEmpty)
            let waiting = try #require(try await subject.takeIsolated())
            try await subject.store.clearSuspicion(of: waiting)
            try await subject.endLeases()
        }
        #expect(try await subject.takeIsolated() != nil)
        try await subject.endLeases()
        guard case .setAside(let submission) = try await subject.store.leaseSuspect() else {
            Issue.record("it is not left to an operator")
            return
        }
        #expect(submission == setAside(deaths: 4, isTriedAgain: false))
        try await subject.makeDue()
        #expect(try await subject.store.hasSuspect() == false)
        #expect(try await subject.dueOffsets().isEmpty)
    }
}
