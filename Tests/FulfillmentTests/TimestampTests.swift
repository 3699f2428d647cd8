import Foundation
import TestSupport
import Testing

@testable import Fulfillment
@testable import NamesAndTimes

@Suite("Timestamps and their text")
struct TimestampTests {
    private static let firstMillisecond: Int64 = -62_135_596_800_000
    private static let lastMillisecond: Int64 = 253_402_300_799_999

    private static func foundation(_ milliseconds: Int64) -> String {
        let seconds = milliseconds.flooredQuotient(by: 1000)
        let fraction = String(milliseconds - seconds * 1000)
        let style = Date.ISO8601FormatStyle()
        let whole = Date(timeIntervalSince1970: Double(seconds)).formatted(style)
        return whole.dropLast() + "." + String(repeating: "0", count: 3 - fraction.count) + fraction + "Z"
    }

    @Test(
        "the timestamp formatter writes random times since 1600 as Foundation does", arguments: 0..<10 as Range<UInt64>)
    func formatting(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<300 {
            // Foundation's calendar is Julian before October 1582; RFC 3339's is Gregorian throughout.
            let milliseconds = Int64.random(in: -11_676_096_000_000...Self.lastMillisecond, using: &random)
            #expect(
                Timestamp(milliseconds: milliseconds).rfc3339 == Self.foundation(milliseconds),
                "seed \(seed), \(milliseconds) ms")
        }
    }

    static let known: [(Int64, String)] = [
        (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"), (-86_400_000, "1969-12-31T00:00:00.000Z"),
        (1_795_167_000_000, "2026-11-20T09:30:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (951_868_800_000, "2000-03-01T00:00:00.000Z"), (-2_203_891_200_001, "1900-02-28T23:59:59.999Z"),
        (-2_203_891_200_000, "1900-03-01T00:00:00.000Z"), (1_709_164_800_000, "2024-02-29T00:00:00.000Z"),
        (1_735_689_599_999, "2024-12-31T23:59:59.999Z"), (firstMillisecond, "0001-01-01T00:00:00.000Z"),
        (lastMillisecond, "9999-12-31T23:59:59.999Z"), (-62_104_147_200_000, "0001-12-31T00:00:00.000Z"),
    ]

    @Test(
        "the timestamp formatter writes known times as known texts, and the parser reads the texts back",
        arguments: known)
    func knownTimes(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).rfc3339 == text)
        #expect(Timestamp(rfc3339: text) == Timestamp(milliseconds: milliseconds))
    }

    @Test("the timestamp formatter writes a time outside the years 0001 to 9999 as the nearest time inside")
    func clamping() {
        for milliseconds in [Int64.min, Int64.min + 1, Self.firstMillisecond - 1] {
            #expect(Timestamp(milliseconds: milliseconds).rfc3339 == "0001-01-01T00:00:00.000Z")
            #expect(Timestamp(milliseconds: milliseconds).daysSinceEpoch == -719_162)
        }
        for milliseconds in [Int64.max, Self.lastMillisecond + 1] {
            #expect(Timestamp(milliseconds: milliseconds).rfc3339 == "9999-12-31T23:59:59.999Z")
            #expect(Timestamp(milliseconds: milliseconds).daysSinceEpoch == 2_932_896)
        }
    }

    @Test(
        "in the years 1 to 9999, each date follows the date of the day before, and converts back to the same day number"
    )
    func everyDay() {
        var previous = CivilDate(daysSinceEpoch: CivilDate.firstDay - 1)
        #expect(previous == CivilDate(year: 0, month: 12, day: 31))
        for day in CivilDate.firstDay...CivilDate.lastDay {
            let date = CivilDate(daysSinceEpoch: day)
            let isNext =
                date == CivilDate(year: previous.year, month: previous.month, day: previous.day + 1)
                || date.day == 1 && date.month == previous.month + 1 && date.year == previous.year
                || date == CivilDate(year: previous.year + 1, month: 1, day: 1)
            if !isNext || date.daysSinceEpoch != day { Issue.record("day \(day) is \(date)") }
            previous = date
        }
        #expect(previous == CivilDate(year: 9999, month: 12, day: 31))
    }

    @Test(
        "the day of a timestamp begins at midnight UTC, before 1970 too",
        arguments: [(0, 0), (86_399_999, 0), (86_400_000, 1), (-1, -1), (-86_400_000, -1), (-86_400_001, -2)]
            as [(Int64, Int32)])
    func days(milliseconds: Int64, day: Int32) {
        #expect(Timestamp(milliseconds: milliseconds).daysSinceEpoch == day)
    }

    @Test("adding milliseconds to a timestamp saturates at the bounds of the integer")
    func adding() {
        #expect(Timestamp(milliseconds: .max).adding(milliseconds: 1).milliseconds == .max)
        #expect(Timestamp(milliseconds: .min).adding(milliseconds: -1).milliseconds == .min)
        #expect(Timestamp(milliseconds: 5).adding(milliseconds: -7).milliseconds == -2)
    }
}
