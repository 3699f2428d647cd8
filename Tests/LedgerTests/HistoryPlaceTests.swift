import Fulfillment
import NamesAndTimes
import Postgres
import Testing

@testable import Ledger

@Suite("The ledger's places in Apple's notification histories")
struct HistoryPlaceTests {
    private static let scope = HistoryScope(bundleID: Sample.bundle, environment: .production)

    @Test("a place in Apple's notification history advances only if all earlier notifications are in this database")
    func fellOver() async throws {
        let database = try await LedgerDatabase()
        let places = PostgresHistoryPlaces(pool: database.pool)
        let here = try await database.pool.run { try DatabaseHistory.read(in: $0) }
        let other = DatabaseHistory("another timeline")
        let place = try #require(try await places.lease(Self.scope, survived: nil, seconds: 60))
        for effects in [[other], [here, other]] as [Set<DatabaseHistory>] {
            #expect(
                try await places.advance(place, to: .windowEnd(Sample.noon), behind: effects, seconds: 90)
                    == .otherDatabase)
        }
        #expect(try await database.number("SELECT count(*) FROM notification_history WHERE taken_until IS NULL") == 1)
        guard case .moved = try await places.advance(place, to: .windowEnd(Sample.noon), behind: [here], seconds: 90)
        else {
            Issue.record("it did not move")
            return
        }
    }
}

@Suite("Partly read windows of Apple's notification history")
struct HistoryPageTests {
    private static let scope = HistoryScope(bundleID: Sample.bundle, environment: .production)

    @Test(
        "a saved history page is dropped if its window is 180 days old, ends in the future, or starts before the place")
    func outdated() {
        let now = Sample.noon
        let day: Int64 = 86_400_000
        func place(_ from: Int64, _ to: Int64, takenUntil: Int64? = nil) -> HistoryPlace {
            var place = HistoryPlace(
                scope: Self.scope, takenUntil: takenUntil.map(now.adding(milliseconds:)), now: now, lease: 0)
            let window = NotificationHistoryWindow(
                from: now.adding(milliseconds: from), to: now.adding(milliseconds: to))
            place.page = HistoryPage(window: window, token: "a")
            return place
        }
        #expect(place(-179 * day - 1000, -178 * day).unfinished != nil)
        #expect(place(-180 * day, -178 * day).unfinished == nil)
        #expect(place(-day, 3_600_000).unfinished == nil)
        #expect(place(-day, -1000, takenUntil: -day + 3_600_000).unfinished != nil)
        #expect(place(-day, -1000, takenUntil: -day + 3_600_001).unfinished == nil)
    }
}

/// Tests leases that end because a notification kills the process that leased the history's place.
@Suite("The ledger's record of notifications that kill the worker")
struct SuspectNotificationTests {
    private static let scope = HistoryScope(bundleID: Sample.bundle, environment: .production)
    private static let body = Digest256(hashing: Array("a".utf8))
    private static let other = Digest256(hashing: Array("b".utf8))

    private func expire(_ database: LedgerDatabase) async throws {
        try await database.pool.run {
            _ = try $0.execute(PostgresStatement("UPDATE notification_history SET leased_until = '-infinity'"))
        }
    }

    @Test("the ledger counts leases of a history place without progress; progress or a release restarts the count")
    func starts() async throws {
        let database = try await LedgerDatabase()
        let places = PostgresHistoryPlaces(pool: database.pool)
        for start in 1...3 {
            let place = try #require(try await places.lease(Self.scope, survived: nil, seconds: 60))
            #expect(place.starts == start)
            try await expire(database)
        }
        let fourth = try #require(try await places.lease(Self.scope, survived: nil, seconds: 60))
        #expect(fourth.starts == 4)
        _ = try await places.advance(fourth, to: .windowEnd(Sample.noon), behind: [], seconds: 60)
        try await expire(database)
        let fifth = try #require(try await places.lease(Self.scope, survived: nil, seconds: 60))
        #expect(fifth.starts == 1)
        let window = NotificationHistoryWindow(from: Sample.noon, to: Sample.noon.adding(milliseconds: 1000))
        let page = HistoryPage(window: window, token: "a")
        guard case .moved(let moved) = try await places.advance(fifth, to: .page(page), behind: [], seconds: 60) else {
            Issue.record("it did not move")
            return
        }
        try await expire(database)
        let sixth = try #require(try await places.lease(Self.scope, survived: nil, seconds: 60))
        #expect(sixth.starts == 1 && moved.page == page)
        try await places.release(sixth, dueAfterSeconds: 0)
        #expect(try await places.lease(Self.scope, survived: nil, seconds: 60)?.starts == 1)
    }

    @Test("if a history lease expires, the last started notification counts a worker death, unless the worker survived")
    func deaths() async throws {
        let database = try await LedgerDatabase()
        let places = PostgresHistoryPlaces(pool: database.pool)
        for death in 0...2 {
            let place = try #require(try await places.lease(Self.scope, survived: nil, seconds: 60))
            #expect(place.culprit?.deaths ?? 0 == death)
            #expect(place.culprit?.name == (death == 0 ? nil : Self.body))
            let other = try #require(try await places.suspect(Self.other, place, seconds: 60))
            #expect(try await places.suspect(Self.body, other, seconds: 60) != nil)
            #expect(try await places.suspect(Self.body, place, seconds: 60) == nil, "an old lease")
            try await expire(database)
        }
        let survived = try #require(try await places.lease(Self.scope, survived: Self.body, seconds: 60))
        #expect(survived.culprit?.deaths == 2, "the process lives that took it")
        let other = try #require(try await places.suspect(Self.other, survived, seconds: 60))
        #expect(other.lease != survived.lease)
        try await expire(database)
        let next = try #require(try await places.lease(Self.scope, survived: nil, seconds: 60))
        #expect(next.culprit?.name == Self.other && next.culprit?.deaths == 1)
        try await places.release(next, dueAfterSeconds: 0)
        #expect(try await places.lease(Self.scope, survived: nil, seconds: 60)?.culprit == nil)
    }

    @Test("the next replica that leases a history place knows the last 100 notifications that were set aside")
    func setAside() async throws {
        let database = try await LedgerDatabase()
        let places = PostgresHistoryPlaces(pool: database.pool)
        let place = try #require(try await places.lease(Self.scope, survived: nil, seconds: 60))
        for number in 0..<105 {
            try await places.setAside(Digest256(hashing: Array("\(number)".utf8)), place)
        }
        try await places.release(place, dueAfterSeconds: 0)
        let next = try #require(try await places.lease(Self.scope, survived: nil, seconds: 60))
        #expect(next.setAside == Set((5..<105).map { Digest256(hashing: Array("\($0)".utf8)) }))
    }
}
