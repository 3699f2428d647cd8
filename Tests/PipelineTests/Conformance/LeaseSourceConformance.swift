import Fulfillment
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Conformance: lease sources of parked submissions and of held purchases")
struct LeaseSourceConformance {
    enum Implementation: String, CaseIterable, Sendable {
        case parked
        case held
    }

    private func with(_ implementation: Implementation, _ body: (LeaseBench) async throws -> Void) async throws {
        let bench = try implementation == .parked ? LeaseBench.parked() : LeaseBench.held()
        defer { bench.bench.close() }
        try await body(bench)
    }

    @Test(
        "the source of parked or held rows leases each due row once, and at most as many rows as the limit allows",
        arguments: Implementation.allCases)
    func once(implementation: Implementation) async throws {
        try await with(implementation) { leases in
            for id in 1...3 { try await leases.enter(id) }
            let source = leases.source()
            guard case .due = await source.nextTurn() else {
                Issue.record("nothing is due")
                return
            }
            #expect(try await source.leaseDue(2).joined().count == 2)
            #expect(try await source.leaseDue(5).joined().count == 1)
            #expect(try await source.leaseDue(5).joined().count == 0)
        }
    }

    @Test(
        "if parked or held rows need the same answer of Apple, the lease source returns these rows as one group",
        arguments: Implementation.allCases)
    func groups(implementation: Implementation) async throws {
        try await with(implementation) { leases in
            try await leases.enter(1)
            try await leases.enterTogether(2, 3)
            let batch = try await leases.source().leaseDue(5)
            #expect(batch.map(\.count).sorted() == [1, 2])
        }
    }

    @Test(
        "if a leased row is released five times, the row is due again, and is not suspected of killing workers",
        arguments: Implementation.allCases)
    func released(implementation: Implementation) async throws {
        try await with(implementation) { leases in
            try await leases.enter(1)
            let source = leases.source()
            for _ in 0..<5 {
                let batch = try await source.leaseDue(5)
                #expect(batch.map(\.count) == [1])
                for item in batch.joined() { try await item.release() }
            }
            guard case .due = await leases.source().nextTurn() else {
                Issue.record("it is suspected")
                return
            }
            #expect(try await source.leaseDue(5).joined().count == 1)
        }
    }

    @Test(
        "if the try of a leased row ended with an outcome, the lease source does not lease the row again",
        arguments: Implementation.allCases)
    func ended(implementation: Implementation) async throws {
        try await with(implementation) { leases in
            try await leases.enter(1)
            let source = leases.source()
            for item in try await source.leaseDue(5).joined() { try await item.work() }
            leases.endLeases()
            #expect(try await source.leaseDue(5).joined().count == 0)
            guard case .due = await leases.source().nextTurn() else {
                Issue.record("it is suspected")
                return
            }
        }
    }

    @Test(
        "if three leases of a row expired, the lease source leases the row in isolation, with no other row leased",
        arguments: Implementation.allCases)
    func isolated(implementation: Implementation) async throws {
        try await with(implementation) { leases in
            try await leases.enter(1)
            let source = leases.source()
            for _ in 0..<3 {
                #expect(try await source.leaseDue(5).joined().count == 1)
                leases.endLeases()
            }
            try await leases.enter(2)
            #expect(try await source.leaseDue(5).joined().count == 1)
            let slots = leases.bench.parking.slots
            guard case .isolated(let item) = await source.nextTurn() else {
                Issue.record("it is not suspected")
                return
            }
            #expect(slots.leased == 1 && !slots.beginLeasing())
            try await item.work()
            slots.leaseEnded()
            slots.endIsolating()
            #expect(slots.isLeasingIdle)
            leases.endLeases()
            #expect(try await source.leaseDue(5).joined().count == 1)
        }
    }

    @Test(
        "if a row's leases expired three times even in isolation, the lease source does not lease the row again",
        arguments: Implementation.allCases)
    func setAside(implementation: Implementation) async throws {
        try await with(implementation) { leases in
            try await leases.enter(1)
            let slots = leases.bench.parking.slots
            for _ in 0..<3 {
                #expect(try await leases.source().leaseDue(5).joined().count == 1)
                leases.endLeases()
            }
            for _ in 0..<3 {
                guard case .isolated = await leases.source().nextTurn() else {
                    Issue.record("it is not suspected")
                    return
                }
                slots.leaseEnded()
                slots.endIsolating()
                leases.endLeases()
            }
            guard case .nothing = await leases.source().nextTurn() else {
                Issue.record("it is leased again")
                return
            }
            #expect(slots.isLeasingIdle)
            guard case .due = await leases.source().nextTurn() else {
                Issue.record("it is suspected still")
                return
            }
            #expect(try await leases.source().leaseDue(5).joined().count == 0)
        }
    }

    @Test(
        "if a worker marks a row as at work after it released the row, the mark has no effect, and the row is due",
        arguments: Implementation.allCases)
    func accusedLate(implementation: Implementation) async throws {
        try await with(implementation) { leases in
            try await leases.enter(1)
            let source = leases.source()
            for item in try await source.leaseDue(5).joined() {
                try await item.release()
                try await item.accuse()
            }
            #expect(try await source.leaseDue(5).joined().count == 1)
        }
    }
}
