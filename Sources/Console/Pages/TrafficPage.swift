import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import Operations
import OperationsHTTP

/// The page with the fleet's traffic of an hour, a day or a month.
struct TrafficPage {
    let traffic: Traffic
    let session: Sessions.Session

    var html: String {
        let spans = TrafficSpan.allCases.map { span in
            "<li><a href=\"/?span=\(span.rawValue)\"\(span == traffic.span ? " aria-current=\"true\"" : "")>"
                + "Last \(span.rawValue)</a></li>"
        }
        return ConsolePage(
            title: "Traffic", place: "/", session: session,
            main: """
                <nav aria-label="Span"><ul>\(spans.joined())</ul></nav>
                <section class="charts"><div><h2>Submissions by class</h2>\(classes)</div>\
                <div><h2>Apple's latency</h2>\(latency)</div></section>
                <section class="tables">\(shares)\(outcomes)\(apple)</section>
                """
        ).html
    }

    private var ends: (String, String) {
        switch traffic.span {
        case .hour: ("an hour ago", "now")
        case .day: ("a day ago", "now")
        case .month: ("30 days ago", "now")
        }
    }

    private var times: [String] {
        let span = traffic.span
        let newest = WallClock.now.milliseconds / 1000 / span.binSeconds
        return (0..<span.bins).map { place in
            let began = (newest - Int64(span.bins - 1 - place)) * span.binSeconds
            return ShownTime.text(Timestamp(milliseconds: began * 1000))
        }
    }

    func bins(_ kind: ShownClass) -> [Int] {
        let classes = traffic.rows(.ofClass)
        let letters = traffic.rows(.deadLetter)
        let answered = traffic.rows(.outcome).filter { $0.name == Self.answeredLetter }
        func sum(_ rows: [Traffic.Row], _ bin: Int) -> Int { rows.reduce(0) { $0 + $1.bins[bin] } }
        return (0..<traffic.span.bins).map { bin in
            kind.count(
                { kind in sum(classes.filter { $0.name == kind.rawValue }, bin) }, deadLetters: sum(letters, bin),
                answeredLetters: sum(answered, bin))
        }
    }

    private static let answeredLetter = "\(OutcomeEvent.Kind.rejected.rawValue) \(Reason.malformedSubmission.rawValue)"

    private var classes: String {
        let unit = Double(traffic.span.binSeconds) / 60
        return Chart.stacked(
            ShownClass.allCases.map { kind in
                Chart.Series(name: kind.rawValue, style: kind.style, values: bins(kind).map { Double($0) / unit })
            }, title: "Submissions per minute over the last \(traffic.span.rawValue), by class", ends: ends,
            unit: "/min", times: times)
    }

    private var shares: String {
        let totals = ShownClass.allCases.map { ($0, bins($0).reduce(0, +)) }
        let sum = totals.reduce(0) { $0 + $1.1 }
        let rows = totals.map { kind, total in
            [
                kind.rawValue, ShownNumber.whole(Double(total)),
                sum == 0 ? "–" : ShownNumber.short(100 * Double(total) / Double(sum)) + " %", kind.meaning,
            ].map { HTMLText.shown($0) }
        }
        let heads = [("Class", false), ("Submissions", true), ("Share", true), ("Meaning", false)]
        return "<div>\(ConsolePage.table("Submissions by class", heads, sum == 0 ? [] : rows, none: Self.none))</div>"
    }

    private static let none = "Nothing was counted in this time. Workers report once a minute."

    private var outcomes: String {
        "<div>\(totals("Events by type and reason", .outcome, "Event"))\(totals("Dead letters by reason", .deadLetter, "Reason"))</div>"
    }

    private var apple: String { "<div>\(totals("Apple's answers", .apple, "Request and result"))</div>" }

    private func totals(_ caption: String, _ kind: TrafficCount.Kind, _ head: String) -> String {
        let rows = traffic.rows(kind).sorted { $0.total > $1.total }.map { row in
            [HTMLText.shown(row.name), ShownNumber.whole(Double(row.total))]
        }
        return ConsolePage.table(caption, [(head, false), ("Count", true)], rows, none: "\(caption): none.")
    }

    private var latency: String {
        let rows = traffic.rows(.appleSeconds)
        let bounds = Set(rows.compactMap { Double($0.name) }).filter(\.isFinite).sorted()
        func line(_ name: String, _ share: Double) -> Chart.Series {
            Chart.Series(
                name: name, style: "c-\(name)",
                values: (0..<traffic.span.bins).map { bin in
                    var counts = Array(repeating: 0, count: bounds.count + 1)
                    for row in rows {
                        let place = Double(row.name).flatMap { bounds.firstIndex(of: $0) } ?? bounds.count
                        counts[place] += row.bins[bin]
                    }
                    return Histogram.Reading(counts: counts, sum: 0).quantile(share, upperBounds: bounds).map {
                        $0 * 1000
                    }
                })
        }
        return Chart.lines(
            [line("p50", 0.5), line("p95", 0.95)],
            title: "Apple's latency over the last \(traffic.span.rawValue) in milliseconds: median and 95th percentile",
            ends: ends, unit: "ms", times: times)
    }
}
