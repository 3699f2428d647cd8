import TestSupport
import Testing

@testable import Fulfillment
@testable import NamesAndTimes

@Suite("The RFC 3339 parser")
struct TimestampParsingTests {
    static let readable: [(String, Int64)] = [
        ("2026-11-20T09:30:00Z", 1_795_167_000_000), ("2026-11-20t09:30:00z", 1_795_167_000_000),
        ("2026-11-20 09:30:00Z", 1_795_167_000_000), ("2026-11-20T09:30:00.5Z", 1_795_167_000_500),
        ("2026-11-20T09:30:00.123456789Z", 1_795_167_000_123), ("2026-11-20T09:30:00.9999Z", 1_795_167_000_999),
        ("2026-11-20T17:30:00+08:00", 1_795_167_000_000), ("2026-11-20T00:00:00-09:30", 1_795_167_000_000),
        ("2026-11-21T09:29:00+23:59", 1_795_167_000_000), ("2026-11-20T09:30:00+00:00", 1_795_167_000_000),
        ("2026-11-20T09:30:00-00:00", 1_795_167_000_000), ("2016-12-31T23:59:60Z", 1_483_228_800_000),
        ("2024-02-29T00:00:00Z", 1_709_164_800_000), ("1969-12-31T23:59:59.999Z", -1),
    ]

    @Test("the RFC 3339 parser reads fractions, offsets, and letters of either case", arguments: readable)
    func reads(text: String, milliseconds: Int64) {
        #expect(Timestamp(rfc3339: text) == Timestamp(milliseconds: milliseconds))
    }

    @Test(
        "the RFC 3339 parser refuses a text that is not RFC 3339",
        arguments: [
            "", "2026", "2026-11-20", "2026-11-20T09:30", "2026-11-20T09:30Z", "2026-11-20T09:30:00",
            "20261120T093000Z",
            "2026-11-20T09:30:00+0800", "2026-11-20T09:30:00+08", "2026-11-20T09:30:00+24:00",
            "2026-11-20T09:30:00+08:60",
            "2026-11-20T09:30:00 Z", "2026-11-20T09:30:00ZZ", "2026-11-20T09:30:00Z ", " 2026-11-20T09:30:00Z",
            "2026-11-20T09:30:00.Z", "2026-11-20T09:30:00,5Z", "2026-11-20T24:00:00Z", "2026-11-20T09:60:00Z",
            "2026-11-20T09:30:61Z", "2026-13-20T09:30:00Z", "2026-00-20T09:30:00Z", "2026-11-00T09:30:00Z",
            "2026-11-31T09:30:00Z", "2026-02-29T09:30:00Z", "1900-02-29T00:00:00Z", "0000-01-01T00:00:00Z",
            "-026-11-20T09:30:00Z", "+026-11-20T09:30:00Z", "2026-1-20T09:30:00Z", "26-11-20T09:30:00Z",
            "2026/11/20T09:30:00Z", "２０２６-11-20T09:30:00Z", "2026-11-20T09:30:00Z\0", "1795167000000",
        ])
    func refuses(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test("a timestamp survives a round trip through its RFC 3339 text", arguments: 0..<5 as Range<UInt64>)
    func roundTrip(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<500 {
            let time = Timestamp(
                milliseconds: Int64.random(in: -62_135_596_800_000...253_402_300_799_999, using: &random))
            #expect(Timestamp(rfc3339: time.rfc3339) == time, "seed \(seed)")
        }
    }

    @Test("the RFC 3339 parser reads a time with 100,000 fraction digits, and refuses 100,000 digits alone")
    func endless() {
        let fraction = String(repeating: "9", count: 100_000)
        #expect(Timestamp(rfc3339: "2026-11-20T09:30:00.\(fraction)Z")?.milliseconds == 1_795_167_000_999)
        #expect(Timestamp(rfc3339: fraction) == nil)
    }
}
