import Fulfillment
import Logging
import Operations
import TestSupport
import Testing

@testable import Pipeline

@Suite("Work that comes due")
struct DueWorkLoopTests {
    /// A table in memory, whose leases never end by themselves.
    final class Table: DueWork {
        struct Content {
            var due: [Int]
            var leases: [Int] = []
            var released: [Int] = []
            var done: [Int] = []
            var isAway = false
            var looks = 0
            var underWay = 0
            var mostUnderWay = 0
        }

        enum Fault: Error { case away }

        let part = Health.Part.heldLoop
        let failingPart = FailingPart.holds
        let concurrency: Int
        private let wanted: Bool
        /// Raised by the log too.
        let changes = ChangeSignal()
        private let content: Shared<Content>
        /// One try.
        private let body: @Sendable (Int) async throws -> Void

        init(
            _ due: [Int], concurrency: Int = 4, isWanted: Bool = true,
            _ body: @escaping @Sendable (Int) async throws -> Void = { _ in }
        ) {
            content = Shared(Content(due: due), changes)
            self.concurrency = concurrency
            wanted = isWanted
            self.body = body
        }

        var isWanted: Bool {
            content.update { $0.looks += 1 }
            return wanted
        }

        var now: Content { content.value }
        func change(_ change: (inout Content) -> Void) { content.update(change) }

        func until(
            _ what: String, file: StaticString = #fileID, line: UInt = #line, _ condition: (Content) -> Bool
        ) async throws {
            try await content.until(what, file: file, line: line, condition)
        }

        func leaseDue(limit: Int) async throws -> [Int] {
            try content.update { content in
                if content.isAway { throw Fault.away }
                let leased = Array(content.due.prefix(limit))
                content.due.removeFirst(leased.count)
                content.leases += leased
                return leased
            }
        }

        func work(on item: Int) async throws {
            content.update { content in
                content.underWay += 1
                content.mostUnderWay = max(content.mostUnderWay, content.underWay)
            }
            defer { content.update { $0.underWay -= 1 } }
            try await body(item)
            content.update { $0.done.append(item) }
        }

        func release(_ item: Int) async throws { content.update { $0.released.append(item) } }
    }

    private func run(
        _ table: Table, isAppleDown: Bool = false, _ body: (Table, Health) async throws -> Void
    ) async throws {
        let log = RecordedLog(changes: table.changes)
        let health = Health(failures: Failures(logger: Logger(label: "test") { _ in log }))
        let loop = DueWorkLoop(table, health: health, isAppleDown: { isAppleDown })
        loop.start()
        try await body(table, health)
        await loop.stop()
    }

    @Test("is tried, no more at once than there are places")
    func places() async throws {
        try await run(Table(Array(0..<40), concurrency: 3) { _ in await Task.yield() }) { table, _ in
            try await table.until("all are done") { $0.done.count == 40 }
            #expect(Set(table.now.done) == Set(0..<40))
            #expect(table.now.mostUnderWay <= 3)
        }
    }

    @Test("goes on where a row always fails, and where one never ends")
    func poison() async throws {
        let table = Table(Array(0..<20), concurrency: 3) { item in
            if item % 5 == 0 { throw Table.Fault.away }
            if item == 1 {
                try? await untilCancelled()
                throw Abandoned()
            }
        }
        try await run(table) { table, _ in
            try await table.until("all that can be are done") { $0.done.count == 15 }
            #expect(table.now.leases.count == 20)
        }
        // It was cut as the process stopped, and is due again; those that failed keep their leases.
        #expect(table.now.released == [1])
    }

    @Test("goes on once the database is back, which is told to fail meanwhile")
    func away() async throws {
        let table = Table([1])
        table.change { $0.isAway = true }
        try await run(table) { table, health in
            try await table.changes.until("the failure is told") { !health.notes.isEmpty }
            #expect(table.now.done.isEmpty)
            table.change { $0.isAway = false }
            try await table.until("it is done") { $0.done == [1] }
        }
    }

    @Test("is tried one at a time while Apple is down, and not at all where nobody wants it")
    func throttled() async throws {
        try await run(Table([1, 2, 3]) { _ in await Task.yield() }, isAppleDown: true) { table, _ in
            try await table.until("all are done") { $0.done.count == 3 }
            #expect(table.now.mostUnderWay == 1)
        }
        let unwanted = Table([1], isWanted: false)
        try await run(unwanted) { table, _ in try await table.until("it is looked at") { $0.looks > 0 } }
        #expect(unwanted.now.leases.isEmpty)
    }

    @Test("is released where the process stops before its try began or ended")
    func stopped() async throws {
        let table = Table([1, 2]) { _ in
            try? await untilCancelled()
            throw Abandoned()
        }
        try await run(table) { table, _ in try await table.until("both are under way") { $0.underWay == 2 } }
        #expect(table.now.released.sorted() == [1, 2])
    }
}
