import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("Progress through Apple's notification history")
struct NotificationHistoryTests {
    private static let now = Sample.recordTime
    private static let hour: Int64 = 3_600_000
    private static let day: Int64 = 24 * hour

    private func place(_ environment: StoreEnvironment = .production, takenUntil: Timestamp? = nil) -> HistoryPlace {
        HistoryPlace(
            scope: HistoryScope(bundleID: Sample.bundle, environment: environment), takenUntil: takenUntil,
            now: Self.now, lease: 1)
    }

    @Test(
        "the first read of notification history starts the set number of days back, at most 179, or 29 in the sandbox")
    func first() {
        #expect(place().start(days: 30) == Self.now.adding(milliseconds: -30 * Self.day))
        #expect(place().start(days: 180) == Self.now.adding(milliseconds: -179 * Self.day))
        #expect(place(.sandbox).start(days: 180) == Self.now.adding(milliseconds: -29 * Self.day))
    }

    @Test("a later read of notification history starts an hour before the last read's end, and at most 179 days back")
    func next() {
        let taken = Self.now.adding(milliseconds: -10 * Self.hour)
        #expect(place(takenUntil: taken).start(days: 1) == taken.adding(milliseconds: -Self.hour))
        let long = Self.now.adding(milliseconds: -300 * Self.day)
        #expect(place(takenUntil: long).start(days: 1) == Self.now.adding(milliseconds: -179 * Self.day))
    }

    @Test("reads of Apple's notification history, each of at most six hours, reach the present without a gap")
    func windows() throws {
        let place = place()
        var from = Self.now.adding(milliseconds: -15 * Self.hour)
        var lengths: [Int64] = []
        while let window = place.window(from: from) {
            #expect(window.from == from)
            lengths.append((window.to.milliseconds - window.from.milliseconds) / Self.hour)
            from = window.to
        }
        #expect(lengths == [6, 6, 3] && from == Self.now)
    }

    @Test("while Apple's notification history is sparse, receiptd doubles the time that one read covers, up to a week")
    func sparse() throws {
        let start = Self.now.adding(milliseconds: -60 * Self.day)
        let lengths = try (0..<7).map { sparse in
            let window = try #require(place().window(from: start, sparse: sparse))
            return (window.to.milliseconds - window.from.milliseconds) / Self.hour
        }
        #expect(lengths == [6, 12, 24, 48, 96, 168, 168])
    }
}
