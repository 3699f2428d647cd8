import Fulfillment
import NamesAndTimes
import Operations
import TestSupport
import Testing

@testable import Pipeline

/// Every `DueWork` keeps these promises to the loop that does it.
@Suite("Every table of work that comes due")
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
        "is wanted where the catalog has something of it, and else is not looked at", arguments: Implementation.allCases
    )
    func wanted(implementation: Implementation) async throws {
        try await with(implementation) { bench in
            #expect(bench.work.isWanted())
            if let unwanted = bench.unwanted { #expect(!unwanted.isWanted()) }
        }
    }

    @Test("each row is leased once, and no more rows than asked for", arguments: Implementation.allCases)
    func once(implementation: Implementation) async throws {
        try await with(implementation) { bench in
            let first = try await bench.work.leaseDue(2)
            #expect(first.count == 2)
            #expect(try await bench.work.leaseDue(5).count == 1)
            #expect(try await bench.work.leaseDue(5).isEmpty)
        }
    }

    @Test("a row that is released is due again, as if it had never been leased", arguments: Implementation.allCases)
    func released(implementation: Implementation) async throws {
        try await with(implementation) { bench in
            // More often than there are places for them.
            for _ in 0..<20 {
                let items = try await bench.work.leaseDue(5)
                #expect(items.count == 3)
                for item in items { try await item.release() }
            }
        }
    }

    @Test("what comes of a try is durable: its row is due no more", arguments: Implementation.allCases)
    func durable(implementation: Implementation) async throws {
        try await with(implementation) { bench in
            for item in try await bench.work.leaseDue(5) { try await item.work() }
            bench.endLeases()
            #expect(try await bench.work.leaseDue(5).isEmpty)
        }
    }

    @Test(
        "a try without a result is no error: its row comes again later, not at once", arguments: Implementation.allCases
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

    @Test("a try that is cut short says so, and its row can be released", arguments: Implementation.allCases)
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
