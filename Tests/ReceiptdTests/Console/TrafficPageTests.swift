import Testing

@testable import BackOffice
@testable import Console
@testable import Ledger

@Suite("The console's traffic page")
struct TrafficPageTests {
    @Test("the console counts forged submissions and dead letters as junk traffic, and an answered dead letter once")
    func junk() {
        func row(_ kind: TrafficCount.Kind, _ name: String, _ count: Int) -> Traffic.Row {
            var bins = Array(repeating: 0, count: TrafficSpan.hour.bins)
            bins[0] = count
            return Traffic.Row(kind: kind, name: name, bins: bins)
        }
        // receiptd answered one of the dead letters, so the dead letter counts among the junk submissions too.
        let traffic = Traffic(
            span: .hour,
            rows: [
                row(.ofClass, "forged", 2), row(.ofClass, "junk", 3), row(.ofClass, "foreign", 9),
                row(.outcome, "receipt.rejected malformed_submission", 1), row(.deadLetter, "malformed_message", 2),
            ])
        let session = Sessions().start(ConsoleUser(name: "ann", mayChange: false), now: 0)
        let html = TrafficPage(traffic: traffic, session: session).html
        for (name, count) in [("junk", 6), ("foreign", 9), ("genuine", 0)] {
            let row = ">\(name)</td><td class=\"n\" data-label=\"Submissions\">\(count)</td>"
            #expect(html.contains(row), "\(name)")
        }
    }
}
