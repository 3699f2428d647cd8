import Testing

@testable import BackOffice
@testable import Console
@testable import Ledger

@Suite("The console's page of dead letters")
struct DeadLettersPageTests {
    @Test("the console's filter of dead letters offers the reasons that occurred, and the selected reason")
    func reasons() {
        let session = Sessions().start(ConsoleUser(name: "ann", mayChange: false), now: 0)
        func page(_ names: [String]) -> DeadLettersPage {
            let rows = names.map { name in
                Traffic.Row(kind: .deadLetter, name: name, bins: Array(repeating: 1, count: TrafficSpan.month.bins))
            }
            return DeadLettersPage(spans: [Traffic(span: .month, rows: rows)], session: session)
        }
        func offers(_ page: DeadLettersPage) -> [String] {
            ["crashed", "malformed_message", "malformed_submission"].filter {
                page.html.contains("<option value=\"\($0)\"")
            }
        }
        #expect(offers(page([])).isEmpty)
        #expect(offers(page(["malformed_message"])) == ["malformed_message", "malformed_submission"])
        var asked = page([])
        asked.filter = ListFilter(reason: "crashed")
        #expect(offers(asked) == ["crashed"])
    }
}
