import Fulfillment
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Conformance: the sources of due work (finishes, refund requests, subscriptions, histories, in memory)")
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
        "`isWanted` of a source of due work is true only if the catalog configures this kind of work",
        arguments: Implementation.allCases
    )
    func wanted(implementation: Implementation) async throws {
        try await with(implementation) { bench in
            #expect(bench.work.isWanted())
            if let unwanted = bench.unwanted { #expect(!unwanted.isWanted()) }
        }
    }

    @Test(
        "the source of due work leases each due row once, and at most as many rows as the limit allows",
        arguments: Implementation.allCases)
    func once(implementation: Implementation) async throws {
        try await with(implementation) { bench in
            let first = try await bench.work.leaseDue(2)
            #expect(first.count == 2)
            #expect(try await bench.work.leaseDue(5).count == 1)
            #expect(try await bench.work.leaseDue(5).isEmpty)
        }
    }

    @Test(
        "if a leased row of due work is released, the row is due again immediately, even after twenty releases",
        arguments: Implementation.allCases)
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

    @Test(
        "if the try of a row of due work succeeded, the source never leases the row again",
        arguments: Implementation.allCases)
    func durable(implementation: Implementation) async throws {
        try await with(implementation) { bench in
            for item in try await bench.work.leaseDue(5) { try await item.work() }
            bench.endLeases()
            #expect(try await bench.work.leaseDue(5).isEmpty)
        }
    }

    @Test(
        "if Apple fails, the try of due work throws no error, and the row is due again only after the lease's end",
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
        "a cancelled try of due work throws Abandoned, and after a release the source can lease the row again",
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
