import AppStore
import Fulfillment
import NamesAndTimes
import Testing

@Suite("Parsing of Retry-After")
struct RetryAfterTests {
    /// The present time of the tests, 2026-11-20T09:30:00Z.
    static let now = Timestamp(milliseconds: 1_795_167_000_000)
    static let date = "Fri, 20 Nov 2026 09:29:50 GMT"

    private func seconds(_ text: String, date: String? = nil) -> Double? {
        RetryAfter.parse(text, date: date, now: Self.now)
            .map { Double($0.milliseconds - Self.now.milliseconds) / 1000 }
    }

    @Test(
        "The parser reads a Retry-After in seconds, as a date or in UNIX milliseconds",
        arguments: [
            ("120", nil, 120), ("120", date, 110), (" 5 ", nil, 5), ("0", nil, 0), ("0", date, -10),
            ("1795167030000", nil, 30), ("1795167030000", date, 30),
            ("Fri, 20 Nov 2026 09:31:00 GMT", nil, 60), ("Friday, 20-Nov-26 09:31:00 GMT", nil, 60),
            ("Fri Nov 20 09:31:00 2026", nil, 60), ("Thu Jan  1 00:00:01 1970", nil, -1_795_166_999),
            ("5", "no date", 5),
        ] as [(String, String?, Double)])
    func forms(text: String, date: String?, expected: Double) {
        #expect(seconds(text, date: date) == expected)
    }

    @Test(
        "A Retry-After of more than an hour counts as an hour",
        arguments: [
            "3601", "86400", "100000000000", "1995167030000", "99999999999999999999999999", "9223372036854775807",
            "Fri, 20 Nov 2099 09:31:00 GMT",
        ])
    func cap(text: String) {
        #expect(seconds(text) == 3600)
    }

    @Test(
        "If a Retry-After is neither seconds nor a date nor UNIX milliseconds, the parser returns nil",
        arguments: [
            "", " ", "-1", "1.5", "soon", "5s", "Fri, 31 Nov 2026 09:31:00 GMT", "Fri, 20 Nov 2026 09:31:00 CET",
            "Fri, 20 Foo 2026 09:31:00 GMT", "20 Nov 2026", "0x10", "１２",
        ])
    func unreadable(text: String) {
        #expect(seconds(text) == nil)
    }
}
