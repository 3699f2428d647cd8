import Fulfillment
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Conformance: finishes, refund requests, subscriptions, histories and the in-memory table of due work")
struct DueWorkConformance {
    enum Implementation: String, CaseIterable, Sendable {
        case finishes
        case refundRequests
        case subscriptions
        case histories
        case inMemory
    }

    private func with(_ implementation: Implementation, _ body: (DueWorkBench) async throws -> Void) async throws {
        switch implementation {
        case .finishes: try await body(DueWorkBench.finishes())
        case .refundRequests: try await body(DueWorkBench.refundRequests())
        case .subscriptions:
            let bench = try ParkingBench()
            defer { bench.close() }
            try await body(DueWorkBench.subscriptions(bench))
        case .histories:
            let bench = try ParkingBench()
            defer { bench.close() }
            try await body(DueWorkBench.histories(bench))
        case .inMemory: try await body(DueWorkBench.inMemory())
        }
    }

    @Test(
        "the worker wants a kind of due work only if the catalog configures this kind",
        arguments: Implementation.allCases
    )
    func wanted(implementation: Implementation) async throws {
        try await with(implementation) { bench in
            #expect(bench.work.isWanted())
            if let unwanted = bench.unwanted { #expect(!unwanted.isWanted()) }
        }
    }

    @Test("the source leases each due row once, and never more rows than the limit", arguments: Implementation.allCases)
    func once(implementation: Implementation) async throws {
        try await with(implementation) { bench in
            let first = try await bench.work.leaseDue(2)
            #expect(first.count == 2)
            #expect(try await bench.work.leaseDue(5).count == 1)
            #expect(try await bench.work.leaseDue(5).isEmpty)
        }
    }

    @Test("a released row is due again immediately, even after twenty releases", arguments: Implementation.allCases)
    func released(implementation: Implementation) async throws {
        try await with(implementation) { bench in
            // If a release did not free the row's place, there would be no place left before the last round.
            for _ in 0..<20 {
                let items = try await bench.work.leaseDue(5)
                #expect(items.count == 3)
                for item in items { try await item.release() }
            }
        }
    }

    @Test("a row whose try succeeded is never due again", arguments: Implementation.allCases)
    func durable(implementation: Implementation) async throws {
        try await with(implementation) { bench in
            for item in try await bench.work.leaseDue(5) { try await item.work() }
            bench.endLeases()
            #expect(try await bench.work.leaseDue(5).isEmpty)
        }
    }

    @Test(
        "if Apple fails, the try throws no error, and the row is due again only after the end of the lease",
        arguments: Implementation.allCases
    )
    func trouble(implementation: Implementation) async throws {
        try await with(implementation) { bench in
            bench.setTrouble(true)
            for item in try await bench.work.leaseDue(5) { try await item.work() }
            #expect(try await bench.work.leaseDue(5).isEmpty)
            bench.setTrouble(false)
            bench.endLeases()
            let again = try await bench.work.leaseDue(5)
            #expect(again.count == 3)
            for item in again { try await item.work() }
            bench.endLeases()
            #expect(try await bench.work.leaseDue(5).isEmpty)
        }
    }

    @Test(
        "a cancelled try throws Abandoned, and the source can lease the row again after a release",
        arguments: Implementation.allCases)
    func cancelled(implementation: Implementation) async throws {
        try await with(implementation) { bench in
            bench.setTrouble(true)
            let item = try #require(try await bench.work.leaseDue(1).first)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await item.work()
            }
            await #expect(throws: Abandoned.self) { try await task.value }
            try await item.release()
            bench.setTrouble(false)
            #expect(try await bench.work.leaseDue(5).count == 3)
        }
    }
}
