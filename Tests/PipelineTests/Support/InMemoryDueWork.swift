import Operations
import TestSupport

@testable import Pipeline

/// An in-memory table of numbers, whose leases end only when a test ends them.
final class InMemoryDueWork: DueWork {
    struct Content {
        var due: [Int]
        var leases: [Int] = []
        var released: [Int] = []
        var done: [Int] = []
        var isAway = false
        var looks = 0
        var underWay = 0
        var mostUnderWay = 0
        /// Whether tries end without a result.
        var isInTrouble = false
    }

    enum Fault: Error { case away }

    let part = Health.Part.heldLoop
    let failingPart = FailingPart.holds
    let places: DuePlaces
    let isWellOnceLeased: Bool
    private let wanted: Bool
    /// Each change of the table, and each line of a test's log, raises this signal.
    let changes = ChangeSignal()
    private let content: Shared<Content>
    /// The work of one try, which gets the row's number.
    private let body: @Sendable (Int) async throws -> Void

    init(
        _ due: [Int], concurrency: Int = 4, isWanted: Bool = true, isWellOnceLeased: Bool = true,
        _ body: @escaping @Sendable (Int) async throws -> Void = { _ in }
    ) {
        content = Shared(Content(due: due), changes)
        places = .own(concurrency)
        wanted = isWanted
        self.isWellOnceLeased = isWellOnceLeased
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

    func leaseDue(limit: Int) async throws -> DueBatch<Int> {
        try content.update { content in
            if content.isAway { throw Fault.away }
            let leased = Array(content.due.prefix(limit))
            content.due.removeFirst(leased.count)
            content.leases += leased
            return DueBatch(leased, limit: limit)
        }
    }

    func work(on item: Int) async throws {
        content.update { content in
            content.underWay += 1
            content.mostUnderWay = max(content.mostUnderWay, content.underWay)
        }
        defer { content.update { $0.underWay -= 1 } }
        try await body(item)
        if Task.isCancelled { throw Abandoned() }
        content.update { if !$0.isInTrouble { $0.done.append(item) } }
    }

    func release(_ item: Int) async throws {
        content.update { content in
            content.released.append(item)
            content.due.append(item)
        }
    }

    /// Ends all leases, as if all workers had died long ago.
    func endLeases() {
        content.update { content in
            content.due += Set(content.leases).subtracting(content.done).subtracting(content.due).sorted()
        }
    }
}
