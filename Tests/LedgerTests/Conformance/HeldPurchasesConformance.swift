import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

@Suite("Stores of held purchases in memory and in PostgreSQL")
struct HeldPurchasesConformance {
    struct Subject {
        let ledger: any PurchaseLedger
        let holds: any HeldPurchases
        /// Releases the hold of one player as an operator does, or all holds of the transaction if the player is nil.
        let releasing: (StoreTransactionID, PlayerID?) async throws -> Void
        /// Ends all leases, as if all workers had died long ago.
        let endLeases: () async throws -> Void

        func release(_ id: StoreTransactionID, of player: PlayerID? = nil) async throws {
            try await releasing(id, player)
        }

        func hold(_ ids: String..., offset: Int64 = 1) async throws {
            let judged = ids.map { Sample.judged(Sample.purchase($0), .consumable, .hold(.retiredProduct)) }
            _ = try await ledger.record(Sample.decision(judged, offset: offset))
        }

        func take(catalogVersion: Int64 = 1, limit: Int = 10) async throws -> [LeasedHold] {
            try await holds.leaseDue(catalogVersion: catalogVersion, limit: limit)
        }

        func takeIsolated() async throws -> LeasedHold? {
            if case .isolated(let hold) = try await holds.leaseSuspect(catalogVersion: 1) { hold } else { nil }
        }
    }

    func with(_ implementation: Implementation, _ body: (Subject) async throws -> Void) async throws {
        switch implementation {
        case .inMemory:
            let ledger = InMemoryLedger()
            try await body(
                Subject(
                    ledger: ledger, holds: ledger, releasing: { ledger.releaseByOperator($0, of: $1) },
                    endLeases: ledger.endHoldLeases))
        case .postgres:
            let database = try await LedgerDatabase()
            let ledger = database.ledger()
            try await body(
                Subject(
                    ledger: ledger, holds: PostgresHolds(pool: database.pool),
                    releasing: { transaction, player in
                        let filter = HoldFilter(id: transaction.text, playerID: player?.text)
                        _ = try await HoldAdministration(pool: database.pool).release(filter, by: "ann")
                    },
                    endLeases: {
                        try await database.run(
                            "UPDATE holds SET leased_until = now() - interval '1 second' WHERE leased_until IS NOT NULL"
                        )
                    }))
            await ledger.close()
        }
    }

    private func decision(
        _ hold: LeasedHold, _ verdict: JudgedPurchase.Verdict = .grant(payload: nil)
    ) -> HoldDecision {
        let judged = Sample.judged(Sample.purchase(hold.transactionID.text), .consumable, verdict)
        return HoldDecision(
            hold, verdict: .each([judged]), environment: .production, decidedAt: Sample.noon, catalogVersion: 1)
    }

    @Test(
        "if an operator releases a hold, one worker leases it and settles it with one grant",
        arguments: Implementation.allCases)
    func released(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.hold("1000")
            #expect(try await subject.take().isEmpty)
            try await subject.release("1000")
            let hold = try #require(try await subject.take().first)
            #expect(hold.isReleased && hold.isDue && hold.waived == [.retiredProduct])
            #expect(hold.submission.submissionID == "s-0-1" && hold.tries == 0)
            #expect(hold.evidence?.purchases.map(\.transactionID) == ["1000"])
            #expect(try await subject.take().isEmpty)
            #expect(try await subject.holds.settle(decision(hold))?.kind == .granted)
            #expect(try await subject.holds.settle(decision(hold)) == nil)
            let again = try await subject.ledger.record(
                Sample.decision([Sample.judged(Sample.purchase("1000"))], offset: 2))
            #expect(again.reason == .alreadyGranted)
        }
    }

    @Test(
        "if a purchase stays held, a worker leases the hold once for each newer catalog",
        arguments: Implementation.allCases)
    func outdated(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.hold("1000", "1001")
            let taken = try await subject.take(catalogVersion: 2)
            #expect(taken.map(\.transactionID).sorted() == ["1000", "1001"])
            #expect(taken.allSatisfy { !$0.isDue && !$0.isReleased })
            try await subject.holds.keepHeld(taken.map { ($0, .currencyNotAllowed) }, catalogVersion: 2)
            #expect(try await subject.take(catalogVersion: 2).isEmpty)
            #expect(Set(try await subject.take(catalogVersion: 3).map(\.reason)) == [.currencyNotAllowed])
        }
    }

    @Test(
        "a worker that reschedules a hold adds one try; a lease that ends without a result leaves the hold unchanged",
        arguments: Implementation.allCases)
    func noVerdict(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.hold("1000", "1001")
            let taken = try await subject.take(catalogVersion: 2).sorted { $0.transactionID < $1.transactionID }
            try await subject.holds.reschedule(taken[0], dueAfterSeconds: 0)
            try await subject.holds.endLease(of: taken[1])
            let due = try await subject.take()
            #expect(due.map(\.transactionID) == ["1000"])
            #expect(due.map(\.tries) == [1] && due.allSatisfy { $0.isDue })
            try await subject.holds.reschedule(due[0], dueAfterSeconds: 3_600)
            #expect(try await subject.take(catalogVersion: 2).map(\.transactionID) == ["1001"])
        }
    }

    @Test(
        "if a hold's lease has expired or an operator released the hold, the earlier worker settles nothing",
        arguments: Implementation.allCases)
    func leases(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.hold("1000")
            let stale = try #require(try await subject.take(catalogVersion: 2).first)
            try await subject.release("1000")
            #expect(try await subject.holds.settle(decision(stale, .hold(.retiredProduct))) == nil)
            try await subject.holds.keepHeld([(stale, .retiredProduct)], catalogVersion: 2)
            try await subject.holds.reschedule(stale, dueAfterSeconds: 1_000)
            let dying = try #require(try await subject.take().first)
            #expect(dying.isReleased)
            try await subject.endLeases()
            let next = try #require(try await subject.take().first)
            #expect(try await subject.holds.settle(decision(dying)) == nil)
            #expect(try await subject.holds.settle(decision(next))?.kind == .granted)
        }
    }

    @Test(
        "a rejected hold ends with an event; a hold that stays held gives no event and waits for a newer catalog",
        arguments: Implementation.allCases)
    func settled(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.hold("1000", "1001")
            try await subject.release("1000")
            try await subject.release("1001")
            let taken = try await subject.take().sorted { $0.transactionID < $1.transactionID }
            let rejected = try await subject.holds.settle(decision(taken[0], .reject(.cancelled)))
            #expect(rejected?.kind == .rejected && rejected?.reason == .cancelled)
            #expect(try await subject.holds.settle(decision(taken[1], .hold(.unknownProduct))) == nil)
            #expect(try await subject.take().isEmpty)
            #expect(try await subject.take(catalogVersion: 2).map(\.reason) == [.unknownProduct])
        }
    }

    @Test(
        "a hold is isolated after three expired leases, and left to an operator after three worker deaths in isolation",
        arguments: Implementation.allCases)
    func suspects(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.hold("1000")
            try await subject.release("1000")
            for _ in 0..<3 {
                #expect(try await subject.holds.hasSuspect(catalogVersion: 1) == false)
                #expect(try await subject.take().map(\.transactionID) == ["1000"])
                try await subject.endLeases()
            }
            #expect(try await subject.take().isEmpty)
            #expect(try await subject.holds.hasSuspect(catalogVersion: 1))
            // A worker may return a hold, or clear the suspicion while the hold waits. No death then counts against the
            // hold.
            let released = try #require(try await subject.takeIsolated())
            try await subject.holds.endLease(of: released)
            let forgiven = try #require(try await subject.takeIsolated())
            #expect(try await subject.takeIsolated() == nil)
            try await subject.holds.clearSuspicion(of: forgiven)
            try await subject.endLeases()
            for _ in 0..<3 {
                let isolated = try #require(try await subject.takeIsolated())
                #expect(isolated.transactionID == "1000")
                try await subject.holds.clearSuspicion(of: isolated)
                try await subject.holds.accuse(isolated)
                try await subject.endLeases()
            }
            guard case .setAside(let purchase) = try await subject.holds.leaseSuspect(catalogVersion: 1) else {
                Issue.record("it is not set aside")
                return
            }
            #expect(
                purchase
                    == SetAsidePurchase(
                        transactionID: "1000", bundleID: Sample.bundle, source: .submission, deaths: 3))
            #expect(try await subject.holds.hasSuspect(catalogVersion: 2) == false)
            #expect(try await subject.take(catalogVersion: 2).isEmpty)
            try await subject.release("1000")
            #expect(try await subject.take().map(\.transactionID) == ["1000"])
        }
    }

    @Test(
        "if workers end the leases of a hold or postpone the hold, it is not suspected of killing workers",
        arguments: Implementation.allCases)
    func unsuspected(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            try await subject.hold("1000")
            try await subject.release("1000")
            for round in 0..<6 {
                let hold = try #require(try await subject.take().first)
                if round % 3 == 2 {
                    try await subject.holds.reschedule(hold, dueAfterSeconds: 0)
                } else {
                    try await subject.holds.endLease(of: hold)
                }
            }
            #expect(try await subject.holds.hasSuspect(catalogVersion: 1) == false)
        }
    }
}
