import Fulfillment
import Ledger
import NamesAndTimes
import TestSupport
import Testing

@Suite("Stores, in memory and in PostgreSQL, of places in Apple's notification history")
struct HistoryPlacesConformance {
    private struct Subject {
        let places: any HistoryPlaces
        /// Ends all leases, as if their workers had died long ago.
        let endLeases: () async throws -> Void
    }

    private static let scope = HistoryScope(bundleID: Sample.bundle, environment: .production)

    private func with(_ implementation: Implementation, _ body: (Subject) async throws -> Void) async throws {
        switch implementation {
        case .inMemory:
            let places = InMemoryHistoryPlaces()
            try await body(Subject(places: places, endLeases: { places.endLeases() }))
        case .postgres:
            let database = try await LedgerDatabase()
            try await body(
                Subject(
                    places: PostgresHistoryPlaces(pool: database.pool),
                    endLeases: { try await database.run("UPDATE notification_history SET leased_until = '-infinity'") })
            )
        }
    }

    private func advance(
        _ place: HistoryPlace, to step: HistoryStep, in places: any HistoryPlaces
    ) async throws -> HistoryPlace? {
        guard case .moved(let moved) = try await places.advance(place, to: step, behind: [], seconds: 90) else {
            return nil
        }
        return moved
    }

    @Test(
        "one replica at a time leases a place in Apple's notification history, and only this lease can move it forward",
        arguments: Implementation.allCases)
    func leased(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            let places = subject.places
            let first = try #require(try await places.lease(Self.scope, survived: nil, seconds: 60))
            #expect(first.takenUntil == nil)
            #expect(try await places.lease(Self.scope, survived: nil, seconds: 60) == nil)
            let sandbox = HistoryScope(bundleID: Sample.bundle, environment: .sandbox)
            #expect(try await places.lease(sandbox, survived: nil, seconds: 60) != nil)
            let moved = try #require(try await advance(first, to: .windowEnd(Sample.noon), in: places))
            #expect(moved.takenUntil == Sample.noon)
            // The place has a newer lease by now, so the first lease is lost.
            #expect(try await places.advance(first, to: .windowEnd(Sample.noon), behind: [], seconds: 90) == .lost)
            try await places.release(first, dueAfterSeconds: 0)
            #expect(try await places.lease(Self.scope, survived: nil, seconds: 60) == nil)
            let earlier = HistoryStep.windowEnd(Sample.noon.adding(milliseconds: -5))
            let back = try #require(try await advance(moved, to: earlier, in: places))
            #expect(back.takenUntil == Sample.noon)
            try await places.release(back, dueAfterSeconds: 0)
            let second = try #require(try await places.lease(Self.scope, survived: nil, seconds: 60))
            #expect(second.takenUntil == Sample.noon)
            try await places.release(second, dueAfterSeconds: 600)
            #expect(try await places.lease(Self.scope, survived: nil, seconds: 60) == nil)
        }
    }

    @Test(
        "if a worker dies or stops, the next replica continues at the saved page of Apple's notification history",
        arguments: Implementation.allCases)
    func goesOn(implementation: Implementation) async throws {
        try await with(implementation) { subject in
            let places = subject.places
            var place = try #require(try await places.lease(Self.scope, survived: nil, seconds: 60))
            #expect(place.unfinished == nil)
            let window = try #require(place.window(from: place.now.adding(milliseconds: -60_000)))
            for (number, ends) in [true, false].enumerated() {
                let page = HistoryPage(window: window, token: "page \(number)")
                let moved = try #require(try await advance(place, to: .page(page), in: places))
                if ends { try await places.release(moved, dueAfterSeconds: 0) } else { try await subject.endLeases() }
                place = try #require(try await places.lease(Self.scope, survived: nil, seconds: 60))
                #expect(place.unfinished == page && place.takenUntil == nil)
            }
            _ = try await places.advance(place, to: .windowEnd(window.to), behind: [], seconds: 60)
            try await subject.endLeases()
            let last = try #require(try await places.lease(Self.scope, survived: nil, seconds: 60))
            #expect(last.page == nil && last.takenUntil == window.to)
        }
    }
}
