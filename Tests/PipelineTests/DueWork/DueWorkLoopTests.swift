import Fulfillment
import Logging
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("The worker's loop over due work")
struct DueWorkLoopTests {
    private func run(
        _ table: InMemoryDueWork, isAppleDown: Bool = false, _ body: (InMemoryDueWork, Health) async throws -> Void
    ) async throws {
        let log = RecordedLog(changes: table.changes)
        let health = Health(failures: Failures(logger: Logger(label: "test") { _ in log }))
        let loop = DueWorkLoop(table, health: health, isAppleDown: { isAppleDown })
        loop.start()
        try await body(table, health)
        await loop.stop()
    }

    @Test("with concurrency 3 the due-work loop tries all due rows, and never more than three rows at a time")
    func places() async throws {
        try await run(InMemoryDueWork(Array(0..<40), concurrency: 3) { _ in await Task.yield() }) { table, _ in
            try await table.until("all are done") { $0.done.count == 40 }
            #expect(Set(table.now.done) == Set(0..<40))
            #expect(table.now.mostUnderWay <= 3)
        }
    }

    @Test("the due-work loop leases no row until the worker knows which decisions the database lost")
    func lossesUnknown() async throws {
        let table = InMemoryDueWork([1, 2, 3])
        let leases = LeaseGate()
        let loop = DueWorkLoop(table, health: Health(), behind: leases)
        await withDiscardingTaskGroup { group in
            #expect(await loop.turn(&group) == table.lookSeconds)
            #expect(table.now.leases.isEmpty)
            leases.open()
            _ = await loop.turn(&group)
            #expect(!table.now.leases.isEmpty)
        }
    }

    @Test("if the tries of some due rows always fail or never end, the due-work loop still finishes all other rows")
    func poison() async throws {
        let table = InMemoryDueWork(Array(0..<20), concurrency: 3) { item in
            if item % 5 == 0 { throw InMemoryDueWork.Fault.away }
            if item == 1 {
                try? await untilCancelled()
                throw Abandoned()
            }
        }
        try await run(table) { table, _ in
            try await table.until("all that can be are done") { $0.done.count == 15 }
            #expect(table.now.leases.count == 20)
        }
        // The stop cut the try of row 1, so the loop released this row. The rows whose tries failed keep their leases.
        #expect(table.now.released == [1])
    }

    @Test("if the database is down, the due-work loop reports this, and works on the due row once the database is back")
    func away() async throws {
        let table = InMemoryDueWork([1])
        table.change { $0.isAway = true }
        try await run(table) { table, health in
            try await table.changes.until("the failure is told") { !health.notes.isEmpty }
            #expect(table.now.done.isEmpty)
            table.change { $0.isAway = false }
            try await table.until("it is done") { $0.done == [1] }
        }
    }

    @Test("if tries of due work fail, health keeps showing the failure, although the loop can still read the due rows")
    func wellByTries() async throws {
        let table = InMemoryDueWork([1], isWellOnceLeased: false) { _ in throw InMemoryDueWork.Fault.away }
        try await run(table) { table, health in
            try await table.changes.until("the failure is told") { !health.notes.isEmpty }
            let looks = table.now.looks
            try await table.until("the table was looked at twice behind it") { $0.looks > looks + 1 }
            #expect(!health.notes.isEmpty && table.now.leases == [1])
        }
    }

    @Test("while Apple is down, the due-work loop tries one row at a time; it leases no row of unwanted work")
    func throttled() async throws {
        try await run(InMemoryDueWork([1, 2, 3]) { _ in await Task.yield() }, isAppleDown: true) { table, _ in
            try await table.until("all are done") { $0.done.count == 3 }
            #expect(table.now.mostUnderWay == 1)
        }
        let unwanted = InMemoryDueWork([1], isWanted: false)
        try await run(unwanted) { table, _ in try await table.until("it is looked at") { $0.looks > 0 } }
        #expect(unwanted.now.leases.isEmpty)
    }

    @Test("if the due-work loop stops, it releases the rows whose tries have not ended")
    func stopped() async throws {
        let table = InMemoryDueWork([1, 2]) { _ in
            try? await untilCancelled()
            throw Abandoned()
        }
        try await run(table) { table, _ in try await table.until("both are under way") { $0.underWay == 2 } }
        #expect(table.now.released.sorted() == [1, 2])
    }
}
