import Encodings
import Foundation
import TestSupport
import Testing

@testable import Demo

@Suite("The report of the demo")
struct DemoReportTests {
    private func result(_ name: String, differences: [String] = []) throws -> SeedReplay.Result {
        let event = #"{"type":"receipt.rejected","reason":"foreign_app","detail_code":"repaired_percent_encoding"}"#
        return SeedReplay.Result(
            seed: try SeedCase(directory: Seeds.directory.appendingPathComponent("cases/\(name)")),
            events: [try JSONParser.parse(Array(event.utf8)).value], deadLetters: 1, differences: differences)
    }

    private func style(width: Int? = nil, hasColors: Bool = false, listsAll: Bool = false) -> DemoReport.Style {
        DemoReport.Style(width: width, hasColors: hasColors, listsAll: listsAll)
    }

    @Test("the demo's report counts outcomes, and lists in 80 columns the cases with differences, or all on request")
    func cases() throws {
        let difference = String(repeating: "very different ", count: 10)
        let report = DemoReport(results: [
            try result("cracker-junk"), try result("tombstone", differences: [difference]),
        ])
        #expect(!report.isAsExpected)
        let short = report.text(style(width: 60))
        #expect(short.hasPrefix("\nResults of the submissions of 2 cases:\n  dead letter "))
        #expect(short.contains("✗ tombstone") && !short.contains("cracker-junk"))
        #expect(short.contains(difference), "what differs is not cut")
        let all = report.text(style(listsAll: true)).split(separator: "\n")
        #expect(all.contains { $0.hasPrefix("✓ cracker-junk ") && $0.hasSuffix(" foreign_app") })
        #expect(all.contains { $0.contains("  detail_code repaired_percent_encoding") })
        #expect(all.allSatisfy { $0.count < 80 || $0.contains(difference) })
        #expect(!DemoReport(results: [try result("cracker-junk")]).text(style()).contains("cracker-junk"))
    }

    @Test("the demo's report has colors only on request, and has the same text with and without colors")
    func colors() throws {
        let report = DemoReport(results: [try result("cracker-junk")])
        let plain = report.text(style(width: 50, listsAll: true))
        #expect(!plain.contains("\u{1B}"))
        let colored = report.text(style(width: 50, hasColors: true, listsAll: true))
        #expect(colored.contains("\u{1B}[32m✓\u{1B}[0m cracker-junk"))
        #expect(colored.replacing(/\u{1B}\[\d*m/, with: "") == plain)
    }
}
