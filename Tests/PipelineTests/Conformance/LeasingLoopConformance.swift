import Fulfillment
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Conformance: lease loops of parked submissions, due work and announced purchases")
struct LeasingLoopConformance {
    enum Implementation: String, CaseIterable, Sendable {
        case leases
        case dueWork
        case announced

        /// The loops whose tries may wait long for Apple. A stopping process cancels these tries.
        static let asking = [leases, dueWork]
    }

    /// A loop on a store with two due rows.
    struct Subject {
        let loop: any LeasingLoop
        /// Returns the number of tries that began.
        let tries: () -> Int
        /// Ends all leases, and returns the number of rows that are due then.
        let remaining: () async throws -> Int
        /// Returns the number of rows that are due now.
        let due: () async throws -> Int
    }

    /// - Parameter isSilent: true if no try ends before its cancellation.
    private func with(
        _ implementation: Implementation, isSilent: Bool = false, _ body: (Subject) async throws -> Void
    ) async throws {
        switch implementation {
        case .leases:
            let leases = try LeaseBench.parked()
            defer { leases.bench.close() }
            for id in 1...2 {
                try await leases.enter(id)
                if isSilent { leases.bench.apple.hold(ParkingBench.receipt("\(id)")) }
            }
            let due: () async throws -> Int = { try await leases.source().leaseDue(10).joined().count }
            try await body(
                Subject(
                    loop: leases.bench.leaseLoop(), tries: { leases.bench.apple.asked.count },
                    remaining: {
                        leases.endLeases()
                        return try await due()
                    }, due: due))
        case .dueWork:
            let table = InMemoryDueWork([1, 2]) { _ in
                guard isSilent else { return }
                try? await untilCancelled()
                throw Abandoned()
            }
            try await body(
                Subject(
                    loop: DueWorkLoop(table, health: Health()), tries: { table.now.done.count + table.now.underWay },
                    remaining: {
                        table.endLeases()
                        return try await table.leaseDue(limit: 10).count
                    }, due: { try await table.leaseDue(limit: 10).count }))
        case .announced:
            let ledger = InMemoryLedger()
            let bench = try ParkingBench(database: ledger)
            defer { bench.close() }
            let purchases = try ["1", "2"].map { try AnnouncedLoopTests.purchase($0) }
            ledger.announce(purchases)
            ledger.endPatience()
            let due = { try await ledger.leaseDue(under: bench.catalog.value, limit: 10).count }
            try await body(
                Subject(
                    loop: AnnouncedLoopTests.loop(bench, ledger),
                    tries: { purchases.count { ledger.isUnclaimed($0.purchase.transactionID) } },
                    remaining: {
                        ledger.endAnnouncementLeases()
                        return try await due()
                    }, due: due))
        }
    }

    @Test("if a lease loop is started twice, the loop works on each due row once", arguments: Implementation.allCases)
    func works(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            subject.loop.start()
            subject.loop.start()
            try await eventually("all were tried") { subject.tries() == 2 && subject.loop.state.underWay == 0 }
            await subject.loop.stop()
            #expect(subject.tries() == 2)
            #expect(try await subject.remaining() == 0)
        }
    }

    @Test(
        "if a lease loop stops, it releases the rows that it is working on, and the rows are due again immediately",
        arguments: Implementation.asking)
    func stops(implementation: Implementation) async throws {
        try await with(implementation, isSilent: true) { subject in
            subject.loop.start()
            try await eventually("both are under way") { subject.tries() == 2 }
            #expect(subject.loop.state.underWay == 2)
            await subject.loop.stop()
            #expect(subject.loop.state.underWay == 0)
            #expect(try await subject.due() == 2)
        }
    }

    @Test("if a lease loop is stopped before any start, the loop leases no row", arguments: Implementation.allCases)
    func neverStarted(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            await subject.loop.stop()
            #expect(subject.tries() == 0 && subject.loop.state.underWay == 0)
            let due = try await subject.due()
            #expect(due == 2)
        }
    }
}
