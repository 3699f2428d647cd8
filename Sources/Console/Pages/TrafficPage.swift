import BackOffice
import Fulfillment
import Ledger
import NamesAndTimes
import Operations
import OperationsHTTP

/// The fleet's traffic of an hour, a day or a month.
struct TrafficPage {
    let traffic: Traffic
    let session: Sessions.Session

    /// The classes in the order of the chart, from below.
    enum Class: String, CaseIterable {
        case genuine, repeated, unverifiable, other, junk, foreign

        var style: String { self == .repeated ? "c-repeat" : "c-\(rawValue)" }

        /// Names under which workers count it.
        var counted: [String] {
            switch self {
            case .genuine: [TrafficClass.genuine.rawValue]
            case .repeated: [TrafficClass.repeated.rawValue]
            case .unverifiable: [TrafficClass.unverifiable.rawValue]
            case .other: [TrafficClass.other.rawValue]
            case .junk: [TrafficClass.junk.rawValue, TrafficClass.forged.rawValue]
            case .foreign: [TrafficClass.foreign.rawValue]
            }
        }

        var meaning: String {
            switch self {
            case .genuine: "granted or held"
            case .repeated: "granted before, or another player's"
            case .unverifiable: "Apple was asked and did not confirm it"
            case .other: "genuine without anything to grant, or refused by policy"
            case .junk: "no receipt, a false signature, an unknown app, dead letters"
            case .foreign: "another app's receipt"
            }
        }
    }

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

    /// The beginning of each bin.
    private var times: [String] {
        let span = traffic.span
        let newest = WallClock.now.milliseconds / 1000 / span.binSeconds
        return (0..<span.bins).map { place in
            let began = (newest - Int64(span.bins - 1 - place)) * span.binSeconds
            return ShownTime.text(Timestamp(milliseconds: began * 1000))
        }
    }

    func bins(_ kind: Class) -> [Int] {
        var rows = traffic.rows(.ofClass).filter { kind.counted.contains($0.name) }
        if kind == .junk { rows += traffic.rows(.deadLetter) }
        return (0..<traffic.span.bins).map { bin in rows.reduce(0) { $0 + $1.bins[bin] } }
    }

    private var classes: String {
        let unit = Double(traffic.span.binSeconds) / 60
        return Chart.stacked(
            Class.allCases.map { kind in
                Chart.Series(name: kind.rawValue, style: kind.style, values: bins(kind).map { Double($0) / unit })
            }, title: "Submissions per minute over the last \(traffic.span.rawValue), by class", ends: ends,
            unit: "/min", times: times)
    }

    private var shares: String {
        let totals = Class.allCases.map { ($0, bins($0).reduce(0, +)) }
        let sum = totals.reduce(0) { $0 + $1.1 }
        let rows = totals.map { kind, total in
            [
                kind.rawValue, ShownNumber.whole(Double(total)),
                sum == 0 ? "–" : ShownNumber.short(100 * Double(total) / Double(sum)) + " %", kind.meaning,
            ].map { HTMLText.shown($0) }
        }
        let heads = [("Class", false), ("Submissions", true), ("Share", true), ("What it is", false)]
        return "<div>\(ConsolePage.table("Submissions by class", heads, sum == 0 ? [] : rows, none: Self.none))</div>"
    }

    private static let none = "Nothing was counted in this time. Workers tell after each minute."

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
